import { Context, Effect, Option } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { explainOtherAddress } from "../../domain/accounts/CallingPage.ts"
import { clientIp } from "../../domain/accounts/ClientAddress.ts"
import { cookieValues } from "../../domain/accounts/Credential.ts"
import { challengeOf, keyChallenge, resourceQueryOf } from "../../domain/accounts/OAuth.ts"
import type { Principal } from "../../domain/accounts/Principal.ts"
import { strayKeyHeaders, unacceptedCredential } from "../../domain/accounts/unacceptedCredential.ts"
import { Unauthorized } from "../../domain/errors.ts"
import type { RequestState } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequester, type Requester } from "../../domain/requests/CurrentRequester.ts"
import { Credentials, type RequestCredentials } from "../../services/accounts/Credentials.ts"
import { Sessions } from "../../services/accounts/Sessions.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { acceptedCredentials, sessionRuleOf } from "../Callers.ts"
import { answerError, apiErrorResponse } from "../errors.ts"
import { CurrentPrincipal } from "../Gates.ts"
import { addLogFields, setHeaders } from "../requestState.ts"
import { client, clientAddress } from "./clientAddress.ts"

const requestCredentials = (
  request: HttpServerRequest.HttpServerRequest,
  sessionCookie: string,
  network: string | undefined,
  address: RequestCredentials["address"]
): RequestCredentials => {
  const { headers } = request
  return {
    authorization: headers.authorization,
    marketplaceSecret: headers["x-marketplace-proxy-secret"],
    marketplaceUser: headers["x-marketplace-user"],
    sessionCookies: cookieValues(headers.cookie, sessionCookie),
    demoOrigin: headers["x-demo-origin"],
    network,
    address
  }
}

/** Undefined for other credentials than sessions, which cannot change an account. */
const requesterOf = (
  principal: Principal,
  { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
  trustedHops: number
): Requester | undefined => {
  if (principal._tag !== "session") return undefined
  const address = clientIp(Option.getOrUndefined(remoteAddress), headers["x-forwarded-for"], trustedHops)
  return { actor: principal.personId, address, browser: headers["user-agent"] }
}

type Response = HttpServerResponse.HttpServerResponse

export const makeAuthentication = Effect.gen(function* () {
  const credentials = yield* Credentials
  const { cookieName } = yield* Sessions
  const { origin } = yield* Deployment
  const proxies = yield* TrustedProxies
  const addressOf = (request: HttpServerRequest.HttpServerRequest) =>
    client.pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.provideService(TrustedProxies, proxies)
    )
  const demoNetwork = (request: HttpServerRequest.HttpServerRequest) =>
    request.headers["x-demo-origin"] === undefined
      ? Effect.undefined
      : Effect.provideService(clientAddress, TrustedProxies, proxies)

  return <E, R>(httpEffect: Effect.Effect<Response, E, R>, endpoint: HttpApiEndpoint.Top) => {
    const accepted = acceptedCredentials(endpoint)
    const withoutSession = accepted.filter((kind) => kind !== "session")
    const acceptsSession = sessionRuleOf(endpoint, origin)

    const authenticate = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.flatMap(demoNetwork(request), (network) => {
        const presented = requestCredentials(request, cookieName, network, addressOf(request))
        const hasSession = presented.sessionCookies.length > 0
        const kinds = hasSession && !acceptsSession(request.headers) ? withoutSession : accepted
        const { authorization, origin: page } = request.headers
        const isElsewhere = kinds !== accepted && authorization === undefined && page !== undefined && page !== origin
        return Effect.mapError(credentials.authenticate(presented, kinds), () =>
          isElsewhere
            ? new Unauthorized({ message: explainOtherAddress(page, origin) })
            : unacceptedCredential(
                presented,
                accepted,
                strayKeyHeaders.find((name) => request.headers[name] !== undefined)
              )
        )
      })

    /** Session-only endpoints send no challenge, because no scheme exists for cookies and a key would fail. */
    const challenge = ({ headers, url }: HttpServerRequest.HttpServerRequest, state: RequestState): void => {
      if (!accepted.includes("key")) return
      const hasToken = headers.authorization !== undefined
      const appChallenge = accepted.includes("oauth") ? challengeOf(origin, hasToken, resourceQueryOf(url)) : undefined
      setHeaders(state, { "www-authenticate": appChallenge ?? keyChallenge(hasToken) })
    }

    return Effect.withFiber<Response, E, Exclude<R, CurrentPrincipal> | HttpServerRequest.HttpServerRequest>(
      ({ context }) => {
        const request = Context.getUnsafe(context, HttpServerRequest.HttpServerRequest)
        const state = Context.get(context, CurrentRequest)
        return Effect.matchEffect(authenticate(request), {
          onFailure: (error) => {
            challenge(request, state)
            return apiErrorResponse(error)
          },
          onSuccess: (principal) => {
            addLogFields(state, {
              principal: principal._tag,
              ...(principal._tag === "demo" ? {} : { account_id: principal.account.id })
            })
            const handled = Effect.catch(Effect.provideService(httpEffect, CurrentPrincipal, principal), answerError)
            const requester = requesterOf(principal, request, proxies)
            return requester === undefined ? handled : Effect.provideService(handled, CurrentRequester, requester)
          }
        })
      }
    )
  }
})
