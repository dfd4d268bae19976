import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { forbiddenTo, ownerOnly } from "../../domain/accounts/Role.ts"
import { toChange } from "../../domain/keys/KeyBounds.ts"
import { Invitations } from "../../services/accounts/Invitations.ts"
import { type Member, Members } from "../../services/accounts/Members.ts"
import { memberJson } from "../../services/operations/views/memberJson.ts"
import { Api } from "../Api.ts"
import { currentSession } from "../Gates.ts"
import { toBudget } from "./keys.ts"

export const toMember = (member: Member) => ({ ...memberJson(member), budget: toBudget(member) })

export const layer = HttpApiBuilder.group(
  Api,
  "members",
  Effect.fn(function* (handlers) {
    const members = yield* Members
    const invitations = yield* Invitations

    return handlers.handleAll({
      list: Effect.fnUntraced(function* () {
        return { members: (yield* members.list((yield* currentSession).account.id)).map(toMember) }
      }),
      invite: Effect.fnUntraced(function* ({ payload: { email, role } }) {
        return toMember(yield* invitations.send((yield* currentSession).account, email, role))
      }),
      resend: Effect.fnUntraced(function* ({ params }) {
        return toMember(yield* invitations.resend((yield* currentSession).account, params.id))
      }),
      change: Effect.fnUntraced(function* ({ params, payload }) {
        const { role, ...bounds } = payload
        const change = { role, ...toChange(bounds) }
        return toMember(yield* members.change((yield* currentSession).account.id, params.id, change))
      }),
      remove: Effect.fnUntraced(function* ({ params }) {
        const { account, memberId, role } = yield* currentSession
        if (role !== "owner" && params.id !== memberId) return yield* forbiddenTo(role, ownerOnly)
        yield* members.remove(account.id, params.id)
      })
    })
  })
)
