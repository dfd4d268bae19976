import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { cookieValues } from "../../domain/accounts/Credential.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"

/** Undefined without a session cookie. Fails if the session has ended. */
export const currentSession = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const [cookie, second] = cookieValues(headers.cookie, sessions.cookieName)
  if (cookie === undefined || second !== undefined) return undefined
  return yield* sessions.authenticate(Redacted.make(cookie))
})
