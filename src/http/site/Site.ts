import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../../domain/errors.ts"
import { DashboardFiles, type Files } from "../../services/DashboardFiles.ts"
import { SignIn } from "../../services/SignIn.ts"
import { assetResponse, fingerprint, immutableHeaders, revalidationHeaders } from "../docs/assets.ts"
import { apiErrorResponse } from "../errors.ts"
import { pageResponse } from "../handlers/oauth/responses.ts"
import { message } from "../pages/pages.ts"
import { shellOf } from "./shell.ts"

/** Routes of the dashboard: one document for each of its addresses, and its script and style under their hashes. */

const home = "/dashboard"

/** Headers that let the page load and call nothing but this deployment, and turn no text into markup or code. */
const pageHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'"
  ].join("; "),
  "x-frame-options": "DENY",
  // With `no-referrer` browsers would send the dashboard's requests with `Origin: null`, which R25 refuses.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin"
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none"><style>path{color:#1f5f4f}@media(prefers-color-scheme:dark){path{color:#7cc4ae}}</style><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5Z" fill="currentColor" opacity=".28"/><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5M2.5 20.5h19" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/** Programs have no use for what people look at, and nothing here is for a search engine but the reference. */
const robots = "User-agent: *\nAllow: /docs\nDisallow: /\n"

const dayHeaders = { "cache-control": "public, max-age=86400" }

const notFound = apiErrorResponse(new NotFound({ message: "There is no such file of the dashboard." }))

const unavailable = pageResponse(
  message("The dashboard is not available", "The operator finds the reason in the log. The API works."),
  { status: 503 }
)

/** The responses of all addresses below `/dashboard`, compressed once. */
const responsesOf = ({ script, style }: Files, { deliversEmails, providers, signUpMode }: SignIn["Service"]) => {
  const scriptPath = `${home}/assets/${fingerprint(script)}.js`
  const stylePath = `${home}/assets/${fingerprint(style)}.css`
  return {
    document: assetResponse({
      text: shellOf({ scriptPath, stylePath, providers, deliversEmails, signUpMode }),
      contentType: "text/html; charset=utf-8",
      headers: { ...revalidationHeaders, ...pageHeaders }
    }),
    assets: new Map([
      [
        scriptPath,
        assetResponse({ text: script, contentType: "text/javascript; charset=utf-8", headers: immutableHeaders })
      ],
      [stylePath, assetResponse({ text: style, contentType: "text/css; charset=utf-8", headers: immutableHeaders })]
    ])
  }
}

/** Leads people to the dashboard. To programs there is nothing at `/` (R34). */
const root = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  /\btext\/html\b/.test(headers.accept ?? "")
    ? Effect.succeed(HttpServerResponse.redirect(home, { status: 303, headers: { vary: "accept" } }))
    : apiErrorResponse(
        new NotFound({ message: "There is nothing at this address. GET /openapi.json lists what there is." })
      )
)

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const signIn = yield* SignIn
    const responses = yield* Effect.cached(Effect.map(yield* DashboardFiles, (files) => responsesOf(files, signIn)))
    const document = responses.pipe(
      Effect.flatMap(({ document }) => document),
      Effect.catchTag("DashboardUnavailable", () => Effect.succeed(unavailable))
    )
    const asset = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
      responses.pipe(
        Effect.flatMap(({ assets }) => assets.get(url.split("?", 1).join("")) ?? notFound),
        Effect.catchTag("DashboardUnavailable", () => notFound)
      )
    )
    return Layer.mergeAll(
      HttpRouter.add("GET", "/", root),
      HttpRouter.add("GET", `${home}/*`, document),
      HttpRouter.add("GET", `${home}/assets/*`, asset),
      HttpRouter.add(
        "GET",
        "/favicon.ico",
        assetResponse({ text: icon, contentType: "image/svg+xml", headers: dayHeaders })
      ),
      HttpRouter.add(
        "GET",
        "/robots.txt",
        assetResponse({ text: robots, contentType: "text/plain", headers: dayHeaders })
      )
    )
  })
)
