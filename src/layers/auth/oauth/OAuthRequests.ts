import { Result } from "effect"
import { clientLimits, readClientMetadata } from "../../../domain/accounts/ClientMetadata.ts"
import {
  authPath,
  canonicalResource,
  failurePath,
  grantableScopes,
  resourceOf
} from "../../../domain/accounts/OAuth.ts"
import { hasShortHost } from "../../../domain/net/address.ts"
import { ownPath } from "../../../domain/requests/ownPath.ts"

const maxStateCharacters = 2_000

const errorResponse = (error: string, error_description: string): Response =>
  Response.json({ error, error_description }, { status: 400, headers: { "cache-control": "no-store" } })

const redirectToFailure = (error: string, baseUrl: string): Response =>
  new Response(null, {
    status: 302,
    headers: { location: `${baseUrl}${failurePath}?${new URLSearchParams({ error })}`, "cache-control": "no-store" }
  })

const isShortAddress = (address: string): boolean =>
  address.length <= clientLimits.redirectCharacters && hasShortHost(address)

/** The only parameter that may be repeated (RFC 8707 section 2). */
const repeatable = "resource"

/** Each is parsed, and a form has room for 100,000. */
const maxResources = 10

/** Drops unknown scopes and other requested values (RFC 6749 section 3.3, RFC 7591 section 2). */
export const rewriteAppRequest = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const url = new URL(request.url)
  switch (url.pathname) {
    case `${authPath}/oauth2/authorize`:
      return rewriteAuthorization(request, url, baseUrl)
    case `${authPath}/oauth2/register`:
      return rewriteRegistration(request)
    case `${authPath}/oauth2/token`:
    case `${authPath}/oauth2/revoke`:
      return rewriteForm(request, baseUrl)
    default:
      return request
  }
}

/** Each resource once, because the library compares them as text. */
const canonicalResources = (resources: ReadonlyArray<string>, baseUrl: string): ReadonlyArray<string> =>
  Array.from(new Set(resources.map((resource) => canonicalResource(resource, baseUrl))))

/**
 * Apps that can authenticate in several ways, such as ChatGPT, send assertions although all apps are public clients
 * (R78). A DPoP proof would bind the token to a key that our endpoints do not check.
 */
const ignoredFields = ["client_assertion", "client_assertion_type"]
const ignoredHeaders = ["dpop", "content-length"]

/** Rejects repeated form fields (RFC 6749 section 3.2). */
const rewriteForm = async (request: Request, baseUrl: string): Promise<Request | Response> => {
  const isForm = /^application\/x-www-form-urlencoded(?:;|$)/i.test(request.headers.get("content-type") ?? "")
  if (!isForm) return errorResponse("invalid_request", "the body must be a form")
  const fields = new URLSearchParams(await request.text())
  const names = [...fields.keys()].filter((name) => name !== repeatable)
  if (new Set(names).size < names.length) return errorResponse("invalid_request", "a field is there twice")
  const resources = fields.getAll(repeatable)
  if (resources.length > maxResources) return errorResponse("invalid_target", `at most ${maxResources} resources`)
  const addresses = [...fields.getAll("redirect_uri"), ...resources]
  if (!addresses.every(isShortAddress)) return errorResponse("invalid_request", "an address is too long")
  for (const name of [...ignoredFields, repeatable]) fields.delete(name)
  for (const resource of canonicalResources(resources, baseUrl)) fields.append(repeatable, resource)
  const headers = new Headers(request.headers)
  for (const name of ignoredHeaders) headers.delete(name)
  return new Request(request.url, { method: "POST", headers, body: String(fields) })
}

const parameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method"
] as const

/** Requires consent each time: an earlier consent may have been for another app (RFC 8252 section 8.6). */
const rewriteAuthorization = (request: Request, url: URL, baseUrl: string): Request | Response => {
  const query = new URLSearchParams()
  for (const name of parameters) {
    const [value, second] = url.searchParams.getAll(name)
    if (second !== undefined) return redirectToFailure("invalid_request", baseUrl)
    if (value !== undefined) query.set(name, value)
  }
  if ((query.get("state")?.length ?? 0) > maxStateCharacters) return redirectToFailure("invalid_request", baseUrl)
  const resources = url.searchParams.getAll("resource")
  const addresses = [...query.getAll("redirect_uri"), ...resources]
  if (!addresses.every(isShortAddress)) return redirectToFailure("invalid_request", baseUrl)
  const requested = resources.length === 0 ? [resourceOf(baseUrl)] : canonicalResources(resources, baseUrl)
  for (const resource of requested) query.append("resource", resource)
  query.set("scope", grantableScopes(url.searchParams.get("scope") ?? "").join(" "))
  query.set("prompt", "consent")
  const headers = new Headers(request.headers)
  // With these headers the library would respond to a script with JSON instead of a redirect.
  for (const name of ["accept", "sec-fetch-mode"]) headers.delete(name)
  return new Request(`${url.origin}${url.pathname}?${query}`, { method: "GET", headers })
}

/** Anyone can register an app, so our links must not lead to one before a person decides (RFC 9700 section 4.11.2). */
export const rewriteAppResponse = (pathname: string, response: Response, baseUrl: string): Response => {
  const location = response.headers.get("location")
  if (pathname !== `${authPath}/oauth2/authorize` || location === null) return response
  if (ownPath(location, baseUrl) !== undefined) return response
  return redirectToFailure(URL.parse(location)?.searchParams.get("error") ?? "invalid_request", baseUrl)
}

/** Registers every app as a public client with PKCE. */
const rewriteRegistration = async (request: Request): Promise<Request | Response> => {
  const body: unknown = await request.json().catch(() => undefined)
  const metadata = readClientMetadata(body)
  if (Result.isFailure(metadata)) return errorResponse(metadata.failure.error, metadata.failure.message)
  const { name, redirectUris } = metadata.success
  const headers = new Headers(request.headers)
  // Registration is anonymous. With a session or token, the library would assign the app to a person.
  for (const header of ["authorization", "cookie", "content-length"]) headers.delete(header)
  const registration = {
    redirect_uris: redirectUris,
    ...(name === undefined ? {} : { client_name: name }),
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    // Allows https, loopback addresses and an app's own schemes.
    application_type: "native"
  }
  return new Request(request.url, { method: "POST", headers, body: JSON.stringify(registration) })
}
