import { Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { cookieValues } from "../domain/accounts/Credential.ts"
import { apiErrorResponse } from "../http/errors.ts"
import { noRoute } from "../http/middleware/routeHint.ts"
import { Operators } from "../services/accounts/Operators.ts"
import { Sessions } from "../services/accounts/Sessions.ts"
import { ConsoleFiles } from "../services/operations/DashboardFiles.ts"
import { makePages, toSignIn } from "./Site.ts"

const home = "/dashboard/operator"

/** The pages of the operator's console. For other people, nothing is at their addresses. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { asset, document } = yield* makePages(home, yield* ConsoleFiles)
    const operators = yield* Operators
    const sessions = yield* Sessions

    const forOperators = <E, R>(response: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
      Effect.gen(function* () {
        const { headers, method, url } = yield* HttpServerRequest.HttpServerRequest
        const [cookie = ""] = cookieValues(headers.cookie, sessions.cookieName)
        const principal = yield* sessions
          .authenticate(Redacted.make(cookie))
          .pipe(Effect.catchTag("unauthorized", () => Effect.undefined))
        if (principal === undefined) return toSignIn(url)
        const user = yield* operators.find(principal.personId)
        return yield* user === undefined ? apiErrorResponse(noRoute(method, url.split("?", 1).join(""))) : response
      })

    return Layer.mergeAll(
      HttpRouter.add("GET", `${home}/*`, forOperators(document)),
      HttpRouter.add("GET", `${home}/assets/*`, forOperators(asset))
    )
  })
)
