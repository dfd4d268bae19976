import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { cookieValues, judged } from "../../domain/Credential.ts"
import { unauthorized } from "../../domain/errors.ts"
import { challengeOf } from "../../domain/OAuth.ts"
import { type Carried, Credentials } from "../../services/Credentials.ts"
import { Deployment } from "../../services/Deployment.ts"
import { Sessions } from "../../services/Sessions.ts"
import { acceptedBy, ownPagesOnly } from "../Callers.ts"
import { note, setHeaders } from "../CurrentRequest.ts"
import { clientAddress } from "../clientAddress.ts"
import { Authentication, CurrentPrincipal } from "../Middleware.ts"
import { isOwnPage } from "../ownPage.ts"

const carriedBy = Effect.fnUntraced(function* (
  { headers }: HttpServerRequest.HttpServerRequest,
  sessionCookie: string
): Effect.fn.Return<Carried, never, HttpServerRequest.HttpServerRequest> {
  const demoOrigin = headers["x-demo-origin"]
  return {
    authorization: headers.authorization,
    marketplaceSecret: headers["x-marketplace-proxy-secret"],
    marketplaceUser: headers["x-marketplace-user"],
    sessionCookies: cookieValues(headers.cookie, sessionCookie),
    demoOrigin,
    network: demoOrigin === undefined ? undefined : yield* clientAddress
  }
})

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const { cookieName } = yield* Sessions
    const { origin } = yield* Deployment

    /** Who calls, or the one refusal of every endpoint's 401. */
    const callerOf = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      endpoint: HttpApiEndpoint.Top
    ) {
      const carried = yield* carriedBy(request, cookieName)
      const foreign = ownPagesOnly(endpoint) && judged(carried) === "session" && !isOwnPage(request.headers, origin)
      return foreign ? yield* unauthorized : yield* credentials.authenticate(carried, acceptedBy(endpoint))
    })

    /** Tells an app that was refused where a person can let it in. */
    const challenge = ({ headers }: HttpServerRequest.HttpServerRequest, endpoint: HttpApiEndpoint.Top) => {
      if (!acceptedBy(endpoint).includes("oauth")) return Effect.void
      const text = challengeOf(origin, headers.authorization !== undefined)
      return text === undefined ? Effect.void : setHeaders({ "www-authenticate": text })
    }

    return Effect.fnUntraced(function* (httpEffect, { endpoint }) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const principal = yield* Effect.tapError(callerOf(request, endpoint), () => challenge(request, endpoint))
      yield* note({
        principal: principal._tag,
        ...(principal._tag === "demo" ? {} : { account_id: principal.account.id })
      })
      return yield* Effect.provideService(httpEffect, CurrentPrincipal, principal)
    })
  })
)
