import { readFileSync } from "node:fs"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import {
  authorizationServer,
  authorizationServerPaths,
  canAuthorizeApps,
  confirmPath,
  consentPath,
  endSessionPath,
  failurePath,
  joinPath,
  protectedResource,
  protectedResourcePaths,
  resourceQueryOf,
  secondFactorPath
} from "../../domain/accounts/OAuth.ts"
import { type InvalidRequest, NotFound, type RateLimited } from "../../domain/errors.ts"
import { apiErrorResponse } from "../../http/errors.ts"
import { checkParameterCount } from "../../http/requests/query.ts"
import type { AuthorizationRequests } from "../../services/accounts/AuthorizationRequests.ts"
import type { ConnectedApps } from "../../services/accounts/ConnectedApps.ts"
import type { Members } from "../../services/accounts/Members.ts"
import type { Sessions } from "../../services/accounts/Sessions.ts"
import type { SignIn } from "../../services/accounts/SignIn.ts"
import type { TrustedProxies } from "../../services/accounts/TrustedProxies.ts"
import type { RateLimiter } from "../../services/credits/RateLimiter.ts"
import type { Ids } from "../../services/Ids.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { scriptPath, stylePath } from "../html/pages.ts"
import { style } from "../html/style.ts"
import * as choosePassword from "./choosePassword.ts"
import * as consent from "./consent.ts"
import type { Folder } from "./destination.ts"
import * as endSession from "./endSession.ts"
import * as failure from "./failure.ts"
import * as forgotPassword from "./forgotPassword.ts"
import * as join from "./join.ts"
import { type ErrorPage, tooManyRequests } from "./responses.ts"
import * as secondFactor from "./secondFactor.ts"
import * as signIn from "./signIn.ts"
import * as signUp from "./signUp.ts"

type PageServices =
  | SignIn
  | AuthorizationRequests
  | ConnectedApps
  | Members
  | Sessions
  | TrustedProxies
  | RateLimiter
  | Ids

type Handler = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  ErrorPage | InvalidRequest | RateLimited,
  PageServices | HttpServerRequest.HttpServerRequest
>

const appsNotOffered = apiErrorResponse(new NotFound({ message: "This deployment does not support connecting apps." }))

const script = readFileSync(new URL("../html/signIn.js", import.meta.url), "utf8")

/** The pages that sign in to a folder's destinations. */
const entrances = (folder: Folder) =>
  Object.entries({ "sign-in": signIn, "sign-up": signUp, "forgot-password": forgotPassword }).flatMap(
    ([name, { show, submit }]): ReadonlyArray<readonly ["GET" | "POST", `/${string}`, Handler]> => [
      ["GET", `${folder}/${name}`, show(folder)],
      ["GET", `${folder}/${name}/`, show(folder)],
      ["POST", `${folder}/${name}`, submit(folder)]
    ]
  )

const metadataResponse = (document: object) =>
  HttpServerResponse.jsonUnsafe(document, {
    headers: { "access-control-allow-origin": "*", "cache-control": "public, max-age=300" }
  })

const asset = (text: string, contentType: string) =>
  HttpServerResponse.text(text, {
    contentType: `${contentType}; charset=utf-8`,
    headers: { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" }
  })

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { origin } = yield* Deployment
    const services = yield* Effect.context<PageServices>()
    const hasApps = canAuthorizeApps(origin)

    const page = (handler: Handler) =>
      Effect.andThen(checkParameterCount, handler).pipe(
        Effect.provideContext(services),
        Effect.catchTags({
          ErrorPage: ({ response }) => Effect.succeed(response),
          rate_limited: () => Effect.succeed(tooManyRequests),
          invalid_request: apiErrorResponse
        })
      )
    const appPage = (handler: Handler) => (hasApps ? page(handler) : appsNotOffered)
    const metadata = (paths: ReadonlyArray<`/${string}`>, documentFor: (requestUrl: string) => object) => {
      const response = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => metadataResponse(documentFor(url)))
      return paths.map((path) => HttpRouter.add("GET", path, hasApps ? response : appsNotOffered))
    }

    return Layer.mergeAll(
      HttpRouter.add("GET", consentPath, appPage(consent.show)),
      HttpRouter.add("POST", consentPath, appPage(consent.submit)),
      HttpRouter.add("GET", failurePath, appPage(failure.show)),
      HttpRouter.add("GET", confirmPath, page(choosePassword.show)),
      HttpRouter.add("POST", confirmPath, page(choosePassword.submit)),
      HttpRouter.add("GET", secondFactorPath, page(secondFactor.show)),
      HttpRouter.add("POST", secondFactorPath, page(secondFactor.submit)),
      HttpRouter.add("GET", endSessionPath, page(endSession.show)),
      HttpRouter.add("POST", endSessionPath, page(endSession.submit)),
      HttpRouter.add("GET", joinPath, page(join.show)),
      HttpRouter.add("POST", joinPath, page(join.submit)),
      HttpRouter.add("GET", stylePath, asset(style, "text/css")),
      HttpRouter.add("GET", scriptPath, asset(script, "text/javascript")),
      ...entrances("/oauth").map(([method, path, handler]) => HttpRouter.add(method, path, appPage(handler))),
      ...entrances("/dashboard").map(([method, path, handler]) => HttpRouter.add(method, path, page(handler))),
      ...metadata(protectedResourcePaths, (url) => protectedResource(origin, resourceQueryOf(url))),
      ...metadata(authorizationServerPaths, () => authorizationServer(origin))
    )
  })
)
