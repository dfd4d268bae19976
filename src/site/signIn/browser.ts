import { Effect, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { ownPath } from "../../domain/requests/ownPath.ts"
import { limitByAddress } from "../../http/middleware/addressLimit.ts"
import { clientAddress } from "../../http/middleware/clientAddress.ts"
import { isOwnPage } from "../../http/ownPage.ts"
import { readAnonymousForm } from "../../http/requests/body.ts"
import type { Browser } from "../../services/accounts/SignIn.ts"
import { RateLimiter } from "../../services/credits/RateLimiter.ts"
import { Deployment } from "../../services/operations/Deployment.ts"
import { otherSite } from "./responses.ts"

export const currentBrowser = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const browser: Browser = {
    cookies: headers.cookie === undefined ? undefined : Redacted.make(headers.cookie),
    userAgent: headers["user-agent"],
    address: yield* clientAddress
  }
  return browser
})

export const queryText = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) =>
  url.slice(`${url}?`.indexOf("?") + 1)
)

/** Reads a submitted form. Rejects forms from other sites, which would act with the visitor's cookies. */
export const readForm = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { origin } = yield* Deployment
  if (!isOwnPage(request.headers, origin)) return yield* otherSite(origin)
  yield* limitByAddress(yield* RateLimiter)
  return new URLSearchParams(yield* readAnonymousForm(request))
})

export const home = "/dashboard"

/** Returns a path on this deployment. Links and forms could otherwise redirect to another site. */
export const readNext = Effect.fnUntraced(function* (address: string | null) {
  const { origin } = yield* Deployment
  return ownPath(address || home, origin) ?? home
})

export const secretIn = (form: URLSearchParams, field: string): Redacted.Redacted =>
  Redacted.make(form.get(field) ?? "")
