import { Effect, Predicate, Redacted } from "effect"
import type { Issue } from "../../domain/errors.ts"
import { authPath } from "../../domain/OAuth.ts"
import { type Browser, type Redirect, TooManyAttempts } from "../../services/SignIn.ts"
import type { Library } from "./Library.ts"

/**
 * Calls of the library's routes by our own code. They go through the library's HTTP handler: its server API
 * (`auth.api`) skips its rate limits.
 */

/** A response of the library, read to its end. */
export interface LibraryResponse {
  readonly status: number
  readonly body: unknown
  readonly cookies: ReadonlyArray<Redacted.Redacted>
  /** The page to go on to. */
  readonly location: string | undefined
  readonly retryAfterSeconds: number
}

export interface Deps {
  readonly library: Library["Service"]
  /** The origin of this deployment's pages: the library takes forms from no other. */
  readonly origin: string
}

/** Posts JSON to one of the library's routes, with a browser's cookies and under its address. */
export const post = Effect.fnUntraced(function* (
  { library, origin }: Deps,
  browser: Browser,
  path: string,
  body: object
) {
  const headers = new Headers({ "content-type": "application/json", accept: "application/json", origin })
  if (browser.cookies !== undefined) headers.set("cookie", Redacted.value(browser.cookies))
  if (browser.userAgent !== undefined) headers.set("user-agent", browser.userAgent)
  const request = new Request(`${origin}${authPath}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
  const response = yield* library.handle(request, browser.address)
  return yield* Effect.promise(() => readResponse(response))
})

const readResponse = async (response: Response): Promise<LibraryResponse> => {
  const body: unknown = await response.json().catch(() => undefined)
  return {
    status: response.status,
    body,
    cookies: response.headers.getSetCookie().map((cookie) => Redacted.make(cookie)),
    // The body wins: where an app waits, its URL leads to the app's request, and the header to the page after a sign-in.
    location: textOf(body, "url") ?? response.headers.get("location") ?? undefined,
    retryAfterSeconds: Math.max(1, Number(response.headers.get("x-retry-after")) || 1)
  }
}

/** A non-empty text in a response's body. */
export const textOf = (body: unknown, name: string): string | undefined => {
  const value: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The first of the issues that `Requests.ts` writes into the body of an error. */
export const firstIssueOf = (body: unknown): Issue | undefined => {
  const issues: unknown = Predicate.hasProperty(body, "issues") ? body.issues : undefined
  const issue: unknown = Array.isArray(issues) ? issues[0] : undefined
  const [field, message] = [textOf(issue, "field"), textOf(issue, "message")]
  return field === undefined || message === undefined ? undefined : { field, message }
}

/** The redirect of a successful response; undefined for an error, and for a success without a location. */
export const redirectOf = ({ cookies, location, status }: LibraryResponse): Redirect | undefined =>
  status < 400 && location !== undefined ? { location, cookies } : undefined

export const tooManyAttempts = ({ retryAfterSeconds }: LibraryResponse): TooManyAttempts =>
  new TooManyAttempts({ retryAfterSeconds })
