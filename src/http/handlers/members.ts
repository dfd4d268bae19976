import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { forbiddenTo, ownerOnly } from "../../domain/accounts/Role.ts"
import { Invitations } from "../../services/accounts/Invitations.ts"
import { Members } from "../../services/accounts/Members.ts"
import { Api } from "../Api.ts"
import { currentSession } from "../Gates.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "members",
  Effect.fn(function* (handlers) {
    const members = yield* Members
    const invitations = yield* Invitations

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { members: yield* members.list((yield* currentSession).account.id) }
      }),
      invite: Effect.fnUntraced(function* ({ payload: { email, role } }) {
        return yield* invitations.send((yield* currentSession).account, email, role)
      }),
      resend: Effect.fnUntraced(function* ({ params }) {
        return yield* invitations.resend((yield* currentSession).account, params.id)
      }),
      change: Effect.fnUntraced(function* ({ params, payload }) {
        return yield* members.setRole((yield* currentSession).account.id, params.id, payload.role)
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const { account, memberId, role } = yield* currentSession
        if (role !== "owner" && params.id !== memberId) return yield* forbiddenTo(role, ownerOnly)
        yield* members.remove(account.id, params.id)
      })
    })
  })
)
