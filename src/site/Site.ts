import { readFile } from "node:fs/promises"
import { Effect, Layer } from "effect"
import { type Headers, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { NotFound } from "../domain/errors.ts"
import type { TargetLabels } from "../domain/search/TargetLabels.ts"
import { partBefore } from "../domain/text.ts"
import { apiErrorResponse } from "../http/errors.ts"
import { noRoute } from "../http/middleware/routeHint.ts"
import { Sessions } from "../services/accounts/Sessions.ts"
import { SignIn } from "../services/accounts/SignIn.ts"
import { DashboardFiles, type Files } from "../services/operations/DashboardFiles.ts"
import { Deployment } from "../services/operations/Deployment.ts"
import { NamedTargets } from "../services/providers/NamedTargets.ts"
import { assetResponse, immutableHeaders, revalidationHeaders } from "./assets.ts"
import { message } from "./html/pages.ts"
import { shellOf } from "./shell.ts"
import { home } from "./signIn/browser.ts"
import { pageResponse } from "./signIn/responses.ts"

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
  // `no-referrer` would make browsers send `Origin: null`, which the cross-site check rejects (R25).
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin"
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none"><style>path{color:#1f5f4f}@media(prefers-color-scheme:dark){path{color:#7cc4ae}}</style><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5Z" fill="currentColor" opacity=".28"/><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5M2.5 20.5h19" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`

const robots = "User-agent: *\nAllow: /docs\nAllow: /llms.txt\nAllow: /llms-full.txt\nDisallow: /\n"

const dayHeaders = { "cache-control": "public, max-age=86400" }

const readRootFile = (name: string) => readFile(new URL(`../../${name}`, import.meta.url), "utf8")

/** The repository's document paths are not served here: all their text is in one file. */
const servedIndex = (text: string): string =>
  text.replaceAll(/\]\((?!llms-full\.txt|openapi\.json)/g, "](llms-full.txt#")

/** Compressed at the first request, because that takes longer than a start should. */
const textResponse = (name: string, serve: (text: string) => string = (text) => text) =>
  Effect.cached(
    Effect.map(
      Effect.promise(() => readRootFile(name)),
      (text) =>
        assetResponse({ text: serve(text), contentType: "text/plain; charset=utf-8", headers: revalidationHeaders })
    )
  )

const notFound = apiErrorResponse(new NotFound({ message: "The dashboard has no file at this address." }))

const unavailable = pageResponse(
  message("The dashboard is not available", "The operator can find the reason in the log. The API still works."),
  { status: 503 }
)

const contentTypes = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" }

/** The document and the files of the pages below `base`. */
const responsesOf = (
  base: string,
  { imports, script, style, texts }: Files,
  { deliversEmails, hasPasswords }: SignIn["Service"],
  targetLabels: TargetLabels,
  origin: string
) => {
  const pathOf = (name: string): string => `${base}/assets/${name}`
  const addresses = { scriptPath: pathOf(script), importPaths: imports.map(pathOf), stylePath: pathOf(style) }
  return {
    document: assetResponse({
      text: shellOf({ ...addresses, hasPasswords, deliversEmails, targetLabels, origin }),
      contentType: "text/html; charset=utf-8",
      headers: { ...revalidationHeaders, ...pageHeaders }
    }),
    assets: new Map(
      Array.from(texts, ([name, text]) => [
        pathOf(name),
        assetResponse({
          text,
          contentType: contentTypes[name.endsWith("css") ? "css" : "js"],
          headers: immutableHeaders
        })
      ])
    )
  }
}

const nothingAtRoot = new NotFound({
  message:
    "Quarry is running, and this address has nothing. Search with GET /v1/query?query=… and the header " +
    "Authorization: Bearer <API key>, read GET /docs, or open /dashboard in a browser."
})

/** Redirects browsers to the dashboard. Programs get a 404 at `/` (R34). */
const root = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  /\btext\/html\b/.test(headers.accept ?? "")
    ? Effect.succeed(HttpServerResponse.redirect(home, { status: 303, headers: { vary: "accept" } }))
    : apiErrorResponse(nothingAtRoot)
)

/** The page to which password managers send their user to change a password (W3C, A Well-Known URL for Changing Passwords). */
const toPassword = HttpServerResponse.redirect(`${home}/account`, { status: 303 })

const pathOf = (url: string): string => partBefore(url, "?")

/** The operator's console has its own routes, if it is on. */
const isConsole = (url: string): boolean => /^\/dashboard\/operator(?:\/|$)/.test(pathOf(url))

const isSignedOutBrowser = (headers: Headers.Headers, cookieName: string): boolean =>
  /\btext\/html\b/.test(headers.accept ?? "") && !`; ${headers.cookie ?? ""}`.includes(`; ${cookieName}=`)

export const toSignIn = (url: string) =>
  HttpServerResponse.redirect(
    url.replace(/\/+$/, "") === home ? `${home}/sign-in` : `${home}/sign-in?${new URLSearchParams({ next: url })}`,
    { status: 303, headers: { vary: "accept, cookie", "cache-control": "no-store" } }
  )

/** Responds with the document for every path below `base`, and with the files. */
export const makePages = Effect.fnUntraced(function* (base: string, built: (typeof DashboardFiles)["Service"]) {
  const signIn = yield* SignIn
  const { origin } = yield* Deployment
  const targetLabels = yield* NamedTargets
  const responses = yield* Effect.cached(
    Effect.map(built, (files) => responsesOf(base, files, signIn, targetLabels, origin))
  )
  const document = responses.pipe(
    Effect.flatMap(({ document }) => document),
    Effect.catchTag("DashboardUnavailable", () => Effect.succeed(unavailable))
  )
  const asset = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
    responses.pipe(
      Effect.flatMap(({ assets }) => assets.get(pathOf(url)) ?? notFound),
      Effect.catchTag("DashboardUnavailable", () => notFound)
    )
  )
  return { document, asset }
})

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { asset, document } = yield* makePages(home, yield* DashboardFiles)
    const { cookieName } = yield* Sessions
    /** Saves a signed-out browser the page's failing requests, after which it would go to the sign-in page anyway. */
    const page = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
      if (isConsole(url)) return apiErrorResponse(noRoute("GET", pathOf(url)))
      return isSignedOutBrowser(headers, cookieName) ? Effect.succeed(toSignIn(url)) : document
    })
    const llms = yield* textResponse("llms.txt", servedIndex)
    const llmsFull = yield* textResponse("llms-full.txt")
    return Layer.mergeAll(
      HttpRouter.add("GET", "/", root),
      HttpRouter.add("GET", "/llms.txt", Effect.flatten(llms)),
      HttpRouter.add("GET", "/llms-full.txt", Effect.flatten(llmsFull)),
      HttpRouter.add("GET", "/.well-known/change-password", Effect.succeed(toPassword)),
      HttpRouter.add("GET", `${home}/*`, page),
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
