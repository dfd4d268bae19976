import { Effect, Predicate, Redacted } from "effect"
import { authPath } from "../../../domain/accounts/OAuth.ts"
import { signUpLimitedCode } from "../../../domain/accounts/signUp.ts"
import type { Issue } from "../../../domain/errors.ts"
import { type Browser, type Redirect, TooManyAttempts } from "../../../services/accounts/SignIn.ts"
import type { Library } from "./Library.ts"

// Requests go through the library's HTTP handler, because its server API (`auth.api`) skips its rate limits.

export interface LibraryResponse {
  readonly status: number
  readonly body: unknown
  readonly cookies: ReadonlyArray<Redacted.Redacted>
  readonly location: string | undefined
  readonly retryAfterSeconds: number
}

export interface Deps {
  readonly library: Library["Service"]
  /** This deployment's origin. The library rejects forms from other origins. */
  readonly origin: string
}

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
    // If an app is waiting, the URL in the body continues the app's request, and the header does not.
    location: textOf(body, "url") ?? response.headers.get("location") ?? undefined,
    retryAfterSeconds: Math.max(1, Number(response.headers.get("x-retry-after")) || 1)
  }
}

export const textOf = (body: unknown, name: string): string | undefined => {
  const value: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" && value !== "" ? value : undefined
}

export const firstIssueOf = (body: unknown): Issue | undefined => {
  const issues: unknown = Predicate.hasProperty(body, "issues") ? body.issues : undefined
  const issue: unknown = Array.isArray(issues) ? issues[0] : undefined
  const [field, message] = [textOf(issue, "field"), textOf(issue, "message")]
  return field === undefined || message === undefined ? undefined : { field, message }
}

/** The redirect of a successful response. Undefined for an error or without a location. */
export const redirectOf = ({ cookies, location, status }: LibraryResponse): Redirect | undefined =>
  status < 400 && location !== undefined ? { location, cookies } : undefined

export const tooManyAttempts = ({ body, retryAfterSeconds }: LibraryResponse): TooManyAttempts =>
  new TooManyAttempts({
    retryAfterSeconds,
    reason: textOf(body, "code") === signUpLimitedCode ? textOf(body, "message") : undefined
  })
