import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { SessionPrincipal } from "../../domain/accounts/Principal.ts"
import { ConnectedApps } from "../../services/accounts/ConnectedApps.ts"
import { Members } from "../../services/accounts/Members.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { Api } from "../Api.ts"
import { currentSession } from "../Gates.ts"

const inAccount = ({ account, personId }: SessionPrincipal) => ({ accountId: account.id, personId })

export const layer = HttpApiBuilder.group(
  Api,
  "access",
  Effect.fn(function* (handlers) {
    const sessions = yield* Sessions
    const apps = yield* ConnectedApps
    const members = yield* Members

    return handlers.handleAll({
      sessions: Effect.fnUntraced(function* () {
        const { personId, sessionId } = yield* currentSession
        const open = yield* sessions.list(personId)
        return {
          sessions: open.map(({ createdAt, expiresAt, extendedAt, id, userAgent }) => ({
            id,
            created_at: createdAt,
            extended_at: extendedAt,
            expires_at: expiresAt,
            user_agent: userAgent ?? null,
            is_current: id === sessionId
          }))
        }
      }),
      endSession: Effect.fnUntraced(function* ({ params }) {
        yield* sessions.end((yield* currentSession).personId, params.session_id)
      }),
      apps: Effect.fnUntraced(function* () {
        const connected = yield* apps.list(inAccount(yield* currentSession))
        return {
          apps: connected.map(({ connectedAt, dailyCredits, id, name, renewedAt, verifiedHost }) => ({
            id,
            name: name ?? null,
            verified_host: verifiedHost ?? null,
            daily_credits: dailyCredits ?? null,
            connected_at: connectedAt,
            renewed_at: renewedAt
          }))
        }
      }),
      endApp: Effect.fnUntraced(function* ({ params }) {
        yield* apps.end(inAccount(yield* currentSession), params.app_id)
      }),
      accounts: Effect.fnUntraced(function* () {
        const { account, personId } = yield* currentSession
        const { accounts, email: address } = yield* members.accountsOf(personId)
        return {
          email: address,
          accounts: accounts.map(({ accountId, email, memberId, role }) => ({
            id: accountId,
            email,
            role,
            member_id: memberId,
            is_current: accountId === account.id
          }))
        }
      }),
      enter: Effect.fnUntraced(function* ({ payload }) {
        yield* members.enter((yield* currentSession).sessionId, payload.account_id)
      })
    })
  })
)
