import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { cookieValues } from "../../domain/Credential.ts"
import { challengeOf, keyChallenge } from "../../domain/OAuth.ts"
import { Credentials, type RequestCredentials } from "../../services/Credentials.ts"
import { Deployment } from "../../services/Deployment.ts"
import { Sessions } from "../../services/Sessions.ts"
import { acceptedCredentials, sessionRuleOf } from "../Callers.ts"
import { addLogFields, CurrentRequest, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { Authentication, CurrentPrincipal } from "../Middleware.ts"
import { clientAddress } from "./clientAddress.ts"

const carriedBy = (
  { headers }: HttpServerRequest.HttpServerRequest,
  sessionCookie: string,
  network: string | undefined
): RequestCredentials => ({
  authorization: headers.authorization,
  marketplaceSecret: headers["x-marketplace-proxy-secret"],
  marketplaceUser: headers["x-marketplace-user"],
  sessionCookies: cookieValues(headers.cookie, sessionCookie),
  demoOrigin: headers["x-demo-origin"],
  network
})

/** Looked for only where a caller of the demo may be counted by it. */
const networkOf = (request: HttpServerRequest.HttpServerRequest) =>
  request.headers["x-demo-origin"] === undefined ? Effect.undefined : clientAddress

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const { cookieName } = yield* Sessions
    const { origin } = yield* Deployment

    return (httpEffect, { endpoint }) => {
      const accepted = acceptedCredentials(endpoint)
      const withoutSession = accepted.filter((kind) => kind !== "session")
      const takesSession = sessionRuleOf(endpoint)

      /** Who calls, or the one refusal of every endpoint's 401. */
      const callerOf = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.flatMap(networkOf(request), (network) => {
          const carried = carriedBy(request, cookieName, network)
          const bySession = carried.sessionCookies.length > 0
          const kinds = bySession && !takesSession(request.headers, origin) ? withoutSession : accepted
          return credentials.authenticate(carried, kinds)
        })

      /**
       * Names the scheme of a key, and to an app where a person can let it in. Where only a session is taken there is
       * none: no scheme is registered for cookies, and a key would be refused.
       */
      const challenge = ({ headers }: HttpServerRequest.HttpServerRequest, state: RequestState): void => {
        if (!accepted.includes("key")) return
        const presented = headers.authorization !== undefined
        const apps = accepted.includes("oauth") ? challengeOf(origin, presented) : undefined
        setHeaders(state, { "www-authenticate": apps ?? keyChallenge(presented) })
      }

      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.flatMap(CurrentRequest, (state) =>
          Effect.matchEffect(callerOf(request), {
            onFailure: (error) => {
              challenge(request, state)
              return Effect.fail(error)
            },
            onSuccess: (principal) => {
              addLogFields(state, {
                principal: principal._tag,
                ...(principal._tag === "demo" ? {} : { account_id: principal.account.id })
              })
              return Effect.provideService(httpEffect, CurrentPrincipal, principal)
            }
          })
        )
      )
    }
  })
)
