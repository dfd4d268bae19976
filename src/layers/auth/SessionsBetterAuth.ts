import { Effect, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound, unauthorized } from "../../domain/errors.ts"
import { canAuthorizeApps } from "../../domain/OAuth.ts"
import type { Accounts } from "../../services/Accounts.ts"
import { Emails } from "../../services/Emails.ts"
import { Sessions } from "../../services/Sessions.ts"
import { type AccountRow, toAccount } from "../sql/AccountsSql.ts"
import { retryTransient } from "../sql/Transient.ts"
import type { SessionsOptions } from "./BetterAuth.ts"
import { digestOf, tokenOf } from "./Digest.ts"
import { isOffered } from "./Offer.ts"

/** Sign-in on better-auth, its tables in our database. */
export const layer = (
  options: SessionsOptions
): Layer.Layer<Sessions, never, Accounts | Emails | SqlClient.SqlClient> =>
  Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const context = yield* Effect.context<Accounts | Emails | SqlClient.SqlClient | Scope.Scope>()
      const secure = options.baseUrl.startsWith("https:")
      const providers = (["google", "github"] as const).filter((name) => options[name] !== undefined)
      const optional = {
        providers: providers.length > 0,
        apps: canAuthorizeApps(options.baseUrl),
        links: !(yield* Emails).delivers
      }

      // Loaded with the first request that signs somebody in: a replica that serves keys only never pays for it.
      const library = yield* Effect.promise(() => import("./BetterAuth.ts")).pipe(
        Effect.flatMap(({ make }) => make(options)),
        Effect.provideContext(context),
        Effect.uninterruptible,
        Effect.cached
      )

      // Looked up for every request, so that a session that ended is refused at once by every replica.
      const authenticate = Effect.fn("Sessions.authenticate")(
        function* (cookie: Redacted.Redacted) {
          const token = tokenOf(options.secret, cookie)
          if (token === undefined) return yield* unauthorized
          const [row] = yield* retryTransient(sql<AccountRow & { readonly session_id: string }>`
            select a.*, s.id as session_id
            from auth_sessions s
            join auth_users u on u.id = s.user_id
            join accounts a on a.id = u.account_id and a.deleted_at is null
            where s.digest = ${digestOf(options.secret, "session", token)} and s.expires_at > clock_timestamp()`)
          if (row === undefined) return yield* unauthorized
          return { _tag: "session" as const, account: toAccount(row), sessionId: row.session_id }
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      const handle = Effect.fn("Sessions.handle")(function* (request: Request, client: string | undefined) {
        if (!isOffered(request.method, new URL(request.url).pathname, optional)) {
          return yield* new NotFound({ message: "Nothing about signing in is at this address." })
        }
        const answer = yield* library
        const response = yield* answer(request, client)
        return response.status >= 500
          ? yield* Effect.die(new Error(`sign-in failed with ${response.status}`))
          : response
      })

      const forget = Effect.fn("Sessions.forget")(
        function* (accountId: string) {
          // What refers to a person by a foreign key goes with them.
          const people = yield* sql<{ readonly id: string }>`
            delete from auth_users where account_id = ${accountId} returning id`
          yield* sql`delete from auth_verifications where ${sql.in(
            "value",
            people.map(({ id }) => id)
          )}`
        },
        sql.withTransaction,
        Effect.orDie
      )

      return Sessions.of({
        cookieName: `${secure ? "__Secure-" : ""}quarry.session_token`,
        providers,
        authenticate,
        handle,
        forget
      })
    })
  )
