import { Predicate } from "effect"
import { appScopes, authPath, failurePath, isAllowedRedirect, resourceOf } from "../../domain/OAuth.ts"
import { ownPath } from "../../domain/ownPath.ts"
import { cutCodePoints } from "../../domain/text.ts"

/** What an app may say of itself. It is kept, and shown to people, so it has bounds. */
const limits = { nameCharacters: 100, redirects: 10, redirectCharacters: 2_000, stateCharacters: 2_000 }

const refusal = (error: string, error_description: string): Response =>
  Response.json({ error, error_description }, { status: 400, headers: { "cache-control": "no-store" } })

/** What a person's browser gets for a request that is answered to nobody else. */
const failurePage = (error: string, baseUrl: string): Response =>
  new Response(null, {
    status: 302,
    headers: { location: `${baseUrl}${failurePath}?${new URLSearchParams({ error })}`, "cache-control": "no-store" }
  })

/** May come more than once (RFC 8707 section 2). */
const repeatable = "resource"

/** A form, as RFC 6749 has it, with each of its fields once. A proof of possession is left out. */
const form = async (request: Request): Promise<Request | Response> => {
  const isForm = /^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers.get("content-type") ?? "")
  if (!isForm) return refusal("invalid_request", "the body must be a form")
  const fields = new URLSearchParams(await request.text())
  const names = [...fields.keys()].filter((name) => name !== repeatable)
  if (new Set(names).size < names.length) return refusal("invalid_request", "a field is there twice")
  const headers = new Headers(request.headers)
  for (const name of ["dpop", "content-length"]) headers.delete(name)
  return new Request(request.url, { method: "POST", headers, body: String(fields) })
}

/**
 * A request of an app as the library gets it: asking for what there is, the same for every app. Answers the response
 * where it is refused before. What an app names beyond that, it may go without (RFC 6749 section 3.3, RFC 7591 section
 * 2), and a proof of possession would bind a token to a key that nobody asks for later.
 */
export const admitted = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const url = new URL(request.url)
  switch (url.pathname) {
    case `${authPath}/oauth2/authorize`:
      return authorizing(request, url, baseUrl)
    case `${authPath}/oauth2/register`:
      return registering(request)
    case `${authPath}/oauth2/token`:
    case `${authPath}/oauth2/revoke`:
      return form(request)
    default:
      return request
  }
}

const kept = ["response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"] as const

/**
 * A person is asked each time: an app on their machine cannot prove which one it is, so that they allowed one before
 * says nothing (RFC 8252 section 8.6).
 */
const authorizing = (request: Request, url: URL, baseUrl: string): Request | Response => {
  const query = new URLSearchParams()
  for (const name of kept) {
    const [value, second] = url.searchParams.getAll(name)
    if (second !== undefined) return failurePage("invalid_request", baseUrl)
    if (value !== undefined) query.set(name, value)
  }
  if ((query.get("state")?.length ?? 0) > limits.stateCharacters) return failurePage("invalid_request", baseUrl)
  const resources = url.searchParams.getAll("resource")
  for (const resource of resources.length === 0 ? [resourceOf(baseUrl)] : resources) query.append("resource", resource)
  query.set("scope", appScopes.join(" "))
  query.set("prompt", "consent")
  const headers = new Headers(request.headers)
  // Answered with a redirect, whoever asks.
  for (const name of ["accept", "sec-fetch-mode"]) headers.delete(name)
  return new Request(`${url.origin}${url.pathname}?${query}`, { method: "GET", headers })
}

/**
 * The answer to an app's request for a person, which leads to a page of ours: anybody may register an app, and a link to
 * here must not lead to their address before a person has decided (RFC 9700 section 4.11.2).
 */
export const ownAnswer = (pathname: string, response: Response, baseUrl: string): Response => {
  const location = response.headers.get("location")
  if (pathname !== `${authPath}/oauth2/authorize` || location === null) return response
  if (ownPath(location, baseUrl) !== undefined) return response
  return failurePage(URL.parse(location)?.searchParams.get("error") ?? "invalid_request", baseUrl)
}

/** Letters, marks, digits, signs and single spaces: what hides or turns around other text could name another app. */
const readable = (name: string): string => {
  const line = name.replaceAll(/\p{C}+/gu, "").replaceAll(/\s+/gu, " ")
  return cutCodePoints(line.trim(), limits.nameCharacters).trim()
}

const registering = async (request: Request): Promise<Request | Response> => {
  const sent: unknown = await request.json().catch(() => undefined)
  if (!Predicate.isObject(sent)) return refusal("invalid_client_metadata", "the body must be a JSON object")
  const { client_name, redirect_uris } = sent as { readonly client_name?: unknown; readonly redirect_uris?: unknown }
  if (
    !Array.isArray(redirect_uris) ||
    redirect_uris.length === 0 ||
    redirect_uris.length > limits.redirects ||
    !redirect_uris.every((uri) => typeof uri === "string" && uri.length <= limits.redirectCharacters)
  ) {
    return refusal(
      "invalid_redirect_uri",
      `redirect_uris must be 1 to ${limits.redirects} addresses of at most ${limits.redirectCharacters} characters`
    )
  }
  if (!redirect_uris.every(isAllowedRedirect)) {
    return refusal(
      "invalid_redirect_uri",
      "a redirect must be https, http to this machine, or of a scheme of the app's own"
    )
  }
  const name = typeof client_name === "string" ? readable(client_name) : ""
  const headers = new Headers(request.headers)
  // Whoever registers is nobody: neither a session nor a token makes an app of theirs.
  for (const credential of ["authorization", "cookie"]) headers.delete(credential)
  headers.delete("content-length")
  const body = JSON.stringify({
    redirect_uris,
    ...(name === "" ? {} : { client_name: name }),
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // Its rules for redirects are those for the web (https), and beyond them loopback addresses and schemes of its own.
    application_type: "native"
  })
  return new Request(request.url, { method: "POST", headers, body })
}
