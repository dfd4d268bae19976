import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ConnectedApps } from "../../services/accounts/ConnectedApps.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { Api } from "../Api.ts"
import { currentAccount, currentAccountPrincipal } from "../Gates.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "access",
  Effect.fn(function* (handlers) {
    const sessions = yield* Sessions
    const apps = yield* ConnectedApps

    return handlers.handleAll({
      sessions: Effect.fnUntraced(function* () {
        const principal = yield* currentAccountPrincipal
        const currentId = principal._tag === "session" ? principal.sessionId : undefined
        const open = yield* sessions.list(principal.account.id)
        return {
          sessions: open.map(({ createdAt, expiresAt, extendedAt, id, userAgent }) => ({
            id,
            created_at: createdAt,
            extended_at: extendedAt,
            expires_at: expiresAt,
            user_agent: userAgent ?? null,
            is_current: id === currentId
          }))
        }
      }),
      endSession: Effect.fnUntraced(function* ({ params }) {
        yield* sessions.end((yield* currentAccount).id, params.session_id)
      }),
      apps: Effect.fnUntraced(function* () {
        const connected = yield* apps.list((yield* currentAccount).id)
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
        yield* apps.end((yield* currentAccount).id, params.app_id)
      })
    })
  })
)
