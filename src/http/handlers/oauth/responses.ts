import { Data, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Redirect } from "../../../services/SignIn.ts"
import * as pages from "../../pages/pages.ts"

/** A page that no other site can frame, script or style, and that no cache stores. */
export const pageResponse = (
  page: pages.Page,
  { formTargets = [], status = 200 }: { readonly status?: number; readonly formTargets?: ReadonlyArray<string> } = {}
) =>
  HttpServerResponse.text(pages.documentOf(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${["'self'", ...formTargets].join(" ")}; base-uri 'none'; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      // The URL holds a signed request. With a stricter policy browsers would send forms with `Origin: null`.
      "referrer-policy": "same-origin",
      "cache-control": "no-store"
    }
  })

/** A redirect of the browser after a form. */
export const redirectResponse = ({ cookies, location }: Redirect) => {
  const headers = new Headers({ location, "cache-control": "no-store", "referrer-policy": "no-referrer" })
  for (const cookie of cookies) headers.append("set-cookie", Redacted.value(cookie))
  return HttpServerResponse.fromWeb(new Response(null, { status: 303, headers }))
}

/** Ends a request with a page that says what is wrong. */
export class ErrorPage extends Data.TaggedError("ErrorPage")<{
  readonly response: HttpServerResponse.HttpServerResponse
}> {
  static of(status: number, heading: string, text: string): ErrorPage {
    return new ErrorPage({ response: pageResponse(pages.message(heading, text), { status }) })
  }
}

export const otherSite = ErrorPage.of(
  400,
  "This did not come from our page",
  "Go back to the app and connect it again."
)

export const requestExpired = ErrorPage.of(
  400,
  "This request is over",
  "It is good for ten minutes, and for one answer. Go back to the app and connect it again."
)

export const unknownApp = ErrorPage.of(
  400,
  "Quarry does not know this app",
  "It may have been idle for too long. Connect it again."
)

export const linkExpired = ErrorPage.of(
  400,
  "This link is over",
  "It is good once and for an hour. Sign in, or ask for a new password, and another is sent."
)

/** The rate limit of the client's address has set `Retry-After` already. */
export const tooManyRequests = pageResponse(pages.message("Too many attempts", "Wait a minute, then try again."), {
  status: 429
})

/** A response of 429 with the time to wait. */
export const withRetryAfter = (response: HttpServerResponse.HttpServerResponse, seconds: number) =>
  HttpServerResponse.setHeader(response, "retry-after", String(seconds))
