import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { IpNetwork } from "effect/net"
import { Forbidden } from "../../domain/errors.ts"
import { partBefore } from "../../domain/text.ts"
import { Operators } from "../../services/accounts/Operators.ts"
import { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { CurrentOperator } from "../../services/operations/CurrentOperator.ts"
import { OperatorNetworks } from "../../services/operations/OperatorNetworks.ts"
import { NeedsFreshSignIn } from "../Callers.ts"
import { currentSession } from "../Gates.ts"
import { makeAuthentication } from "../middleware/Authentication.ts"
import { client } from "../middleware/clientAddress.ts"
import { admit } from "../middleware/gates.ts"
import { noRoute } from "../middleware/routeHint.ts"
import { withDecodedQuery } from "../requests/query.ts"
import { CurrentConsoleUser, denialOfActs, OperatorGate } from "./OperatorGate.ts"

const otherNetwork = new Forbidden({
  message: "The operator's console cannot be used from this network. OPERATOR_NETWORKS lists the networks that may."
})

const noSecondFactor = new Forbidden({
  message:
    "The operator's console requires a second factor. Set up an authenticator app or a passkey under Account first."
})

/** Checks session, person, network, second factor, role and freshness, in this order. */
export const layer = Layer.effect(
  OperatorGate,
  Effect.gen(function* () {
    const authenticate = yield* makeAuthentication
    const limiter = yield* RateLimiter
    const operators = yield* Operators
    const networks = yield* OperatorNetworks
    const proxies = yield* TrustedProxies

    const isElsewhere = Effect.map(Effect.provideService(client, TrustedProxies, proxies), (ip) =>
      networks === undefined ? false : ip === undefined || !networks.some((network) => IpNetwork.contains(network, ip))
    )

    const enter = Effect.fnUntraced(function* ({ annotations }: HttpApiEndpoint.Top) {
      const session = yield* currentSession
      const user = yield* operators.find(session.personId)
      if (user === undefined) {
        const { method, url } = yield* HttpServerRequest.HttpServerRequest
        // The same as for a path without a route, even without the headers of the limit.
        return yield* noRoute(method, partBefore(url, "?"))
      }
      yield* admit(limiter, session)
      if (yield* isElsewhere) return yield* otherNetwork
      if (!user.hasSecondFactor) return yield* noSecondFactor
      const known = { email: user.email, role: user.role, isFresh: session.isFresh }
      const denial = Context.get(annotations, NeedsFreshSignIn) ? denialOfActs(known) : undefined
      return denial === undefined ? known : yield* denial
    })

    return (httpEffect, { endpoint }) =>
      authenticate(
        Effect.flatMap(enter(endpoint), (user) =>
          withDecodedQuery(httpEffect).pipe(
            Effect.provideService(CurrentConsoleUser, user),
            Effect.provideService(CurrentOperator, user.email)
          )
        ),
        endpoint
      )
  })
)
