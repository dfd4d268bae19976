import { Data, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Redirect } from "../../services/accounts/SignIn.ts"
import * as pages from "../html/pages.ts"

/** Returns a page that other sites cannot frame, script or style, and that is not cached. */
export const pageResponse = (
  page: pages.Page,
  { formTargets = [], status = 200 }: { readonly status?: number; readonly formTargets?: ReadonlyArray<string> } = {}
) =>
  HttpServerResponse.text(pages.documentOf(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": `default-src 'none'; ${page.script ? "script-src 'self'; connect-src 'self'; " : ""}style-src 'self'; img-src 'self'; form-action ${["'self'", ...formTargets].join(" ")}; base-uri 'none'; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      // The URL contains a signed request. A stricter policy would make browsers submit forms with `Origin: null`.
      "referrer-policy": "same-origin",
      "cache-control": "no-store"
    }
  })

export const redirectResponse = ({ cookies, location }: Redirect) => {
  const headers = new Headers({ location, "cache-control": "no-store", "referrer-policy": "no-referrer" })
  for (const cookie of cookies) headers.append("set-cookie", Redacted.value(cookie))
  return HttpServerResponse.fromWeb(new Response(null, { status: 303, headers }))
}

export class ErrorPage extends Data.TaggedError("ErrorPage")<{
  readonly response: HttpServerResponse.HttpServerResponse
}> {
  static of(status: number, heading: string, text: string, actions: ReadonlyArray<pages.Action> = []): ErrorPage {
    return new ErrorPage({ response: pageResponse(pages.message(heading, text, actions), { status }) })
  }
}

export const otherSite = (origin: string) =>
  ErrorPage.of(
    400,
    "This form came from another site",
    `Quarry accepts forms only from its own pages at ${origin}. Go back and try again from there.`
  )

export const requestExpired = ErrorPage.of(
  400,
  "This request has expired",
  "A request is valid for ten minutes and can be answered once. Go back to the app and connect it again."
)

export const unknownApp = ErrorPage.of(
  400,
  "Quarry does not know this app",
  "Its registration has expired, or is from another server. Go back to the app, remove this server there, and add it again."
)

export const linkExpired = ErrorPage.of(
  400,
  "This link has expired",
  "A link works once, for one hour. Request a new link, or sign in if you have already chosen a password.",
  [
    { text: "Get a new link", path: "/dashboard/forgot-password" },
    { text: "Sign in", path: "/dashboard/sign-in" }
  ]
)

/** `Retry-After` is already set by the per-address rate limit. */
export const tooManyRequests = pageResponse(pages.message("Too many attempts", "Wait a minute, then try again."), {
  status: 429
})

export const withRetryAfter = (response: HttpServerResponse.HttpServerResponse, seconds: number) =>
  HttpServerResponse.setHeader(response, "retry-after", String(seconds))
