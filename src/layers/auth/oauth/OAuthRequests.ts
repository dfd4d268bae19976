import { Predicate } from "effect"
import { appScopes, authPath, failurePath, isAllowedRedirect, resourceOf } from "../../../domain/accounts/OAuth.ts"
import { hasShortHost } from "../../../domain/net/address.ts"
import { ownPath } from "../../../domain/requests/ownPath.ts"
import { cutCodePoints } from "../../../domain/text.ts"

/** Limits of an app's own description, which is stored and shown to people. */
const limits = { nameCharacters: 100, redirects: 10, redirectCharacters: 2_000, stateCharacters: 2_000 }

const errorResponse = (error: string, error_description: string): Response =>
  Response.json({ error, error_description }, { status: 400, headers: { "cache-control": "no-store" } })

/** Redirects a browser to our error page. */
const redirectToFailure = (error: string, baseUrl: string): Response =>
  new Response(null, {
    status: 302,
    headers: { location: `${baseUrl}${failurePath}?${new URLSearchParams({ error })}`, "cache-control": "no-store" }
  })

/** Limits the length of URLs that the library parses. */
const isShortAddress = (address: string): boolean =>
  address.length <= limits.redirectCharacters && hasShortHost(address)

/** The only parameter that may be repeated (RFC 8707 section 2). */
const repeatable = "resource"

/**
 * Rewrites an app's request for the library, or returns an error response. All apps request the same scopes and
 * resource. Other requested values are dropped (RFC 6749 section 3.3, RFC 7591 section 2).
 */
export const rewriteAppRequest = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const url = new URL(request.url)
  switch (url.pathname) {
    case `${authPath}/oauth2/authorize`:
      return rewriteAuthorization(request, url, baseUrl)
    case `${authPath}/oauth2/register`:
      return rewriteRegistration(request)
    case `${authPath}/oauth2/token`:
    case `${authPath}/oauth2/revoke`:
      return rewriteForm(request)
    default:
      return request
  }
}

/**
 * Rejects repeated form fields (RFC 6749 section 3.2). Drops a proof of possession (DPoP), which would bind the token
 * to a key that our endpoints do not check.
 */
const rewriteForm = async (request: Request): Promise<Request | Response> => {
  const isForm = /^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers.get("content-type") ?? "")
  if (!isForm) return errorResponse("invalid_request", "the body must be a form")
  const fields = new URLSearchParams(await request.text())
  const names = [...fields.keys()].filter((name) => name !== repeatable)
  if (new Set(names).size < names.length) return errorResponse("invalid_request", "a field is there twice")
  const addresses = [...fields.getAll("redirect_uri"), ...fields.getAll(repeatable)]
  if (!addresses.every(isShortAddress)) return errorResponse("invalid_request", "an address is too long")
  const headers = new Headers(request.headers)
  for (const name of ["dpop", "content-length"]) headers.delete(name)
  return new Request(request.url, { method: "POST", headers, body: String(fields) })
}

/** Parameters of an authorization request that are passed to the library. */
const parameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method"
] as const

/**
 * Requires consent each time: an app on a person's machine cannot prove its identity, so an earlier consent may have
 * been for another app (RFC 8252 section 8.6).
 */
const rewriteAuthorization = (request: Request, url: URL, baseUrl: string): Request | Response => {
  const query = new URLSearchParams()
  for (const name of parameters) {
    const [value, second] = url.searchParams.getAll(name)
    if (second !== undefined) return redirectToFailure("invalid_request", baseUrl)
    if (value !== undefined) query.set(name, value)
  }
  if ((query.get("state")?.length ?? 0) > limits.stateCharacters) return redirectToFailure("invalid_request", baseUrl)
  const resources = url.searchParams.getAll("resource")
  const addresses = [...query.getAll("redirect_uri"), ...resources]
  if (!addresses.every(isShortAddress)) return redirectToFailure("invalid_request", baseUrl)
  for (const resource of resources.length === 0 ? [resourceOf(baseUrl)] : resources) query.append("resource", resource)
  query.set("scope", appScopes.join(" "))
  query.set("prompt", "consent")
  const headers = new Headers(request.headers)
  // With these headers the library would respond to a script with JSON instead of a redirect.
  for (const name of ["accept", "sec-fetch-mode"]) headers.delete(name)
  return new Request(`${url.origin}${url.pathname}?${query}`, { method: "GET", headers })
}

/**
 * Redirects an authorization request to our pages. Anyone can register an app, so our links must not lead to an app
 * before a person has decided (RFC 9700 section 4.11.2).
 */
export const rewriteAppResponse = (pathname: string, response: Response, baseUrl: string): Response => {
  const location = response.headers.get("location")
  if (pathname !== `${authPath}/oauth2/authorize` || location === null) return response
  if (ownPath(location, baseUrl) !== undefined) return response
  return redirectToFailure(URL.parse(location)?.searchParams.get("error") ?? "invalid_request", baseUrl)
}

/** Removes control characters and bidirectional overrides, which could make one app look like another. */
const toReadableName = (name: string): string => {
  const line = name.replaceAll(/\p{C}+/gu, "").replaceAll(/\s+/gu, " ")
  return cutCodePoints(line.trim(), limits.nameCharacters).trim()
}

const isRedirectList = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= limits.redirects &&
  value.every((uri) => typeof uri === "string" && uri.length <= limits.redirectCharacters)

/** Registers every app as a public client with PKCE. */
const rewriteRegistration = async (request: Request): Promise<Request | Response> => {
  const body: unknown = await request.json().catch(() => undefined)
  if (!Predicate.isObject(body)) return errorResponse("invalid_client_metadata", "the body must be a JSON object")
  const { client_name, redirect_uris } = body as { readonly client_name?: unknown; readonly redirect_uris?: unknown }
  if (!isRedirectList(redirect_uris)) {
    return errorResponse(
      "invalid_redirect_uri",
      `redirect_uris must be 1 to ${limits.redirects} addresses of at most ${limits.redirectCharacters} characters`
    )
  }
  if (!redirect_uris.every(isAllowedRedirect)) {
    return errorResponse(
      "invalid_redirect_uri",
      "a redirect must be https, http to this machine, or of a scheme of the app's own"
    )
  }
  const name = typeof client_name === "string" ? toReadableName(client_name) : ""
  const headers = new Headers(request.headers)
  // Registration is anonymous. With a session or token, the library would assign the app to a person.
  for (const header of ["authorization", "cookie", "content-length"]) headers.delete(header)
  const metadata = {
    redirect_uris,
    ...(name === "" ? {} : { client_name: name }),
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // Allows https, loopback addresses and an app's own schemes.
    application_type: "native"
  }
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(metadata) })
}
