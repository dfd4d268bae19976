import { parse } from "tldts"
import { parseAddress } from "../net/address.ts"
import { hostOf, isLoopbackHost } from "../net/Network.ts"

// OAuth 2.1 for apps. Every token is bound to one protected resource, the MCP endpoint (RFC 8707).

export const toolScopes = ["search", "read"] as const
export type ToolScope = (typeof toolScopes)[number]

/** Every app gets a refresh token; `offline_access` is its standard scope. */
export const appScopes = [...toolScopes, "offline_access"] as const

export const isToolScope = (scope: string): scope is ToolScope => toolScopes.some((known) => known === scope)

/** Returns the requested scopes that exist, or all scopes if none exists. `requested` is separated by spaces. */
export const grantableScopes = (requested: string): ReadonlyArray<string> => {
  const known = toolScopes.filter((scope) => requested.split(" ").includes(scope))
  return [...(known.length === 0 ? toolScopes : known), "offline_access"]
}

/** With these prefixes, secret scanners recognize leaked tokens. */
export const accessTokenPrefix = "quarry_at_"
export const refreshTokenPrefix = "quarry_rt_"

export const signInPath = "/oauth/sign-in"
export const consentPath = "/oauth/consent"
export const failurePath = "/oauth/error"
/** Linked in emails: setting a password on this page confirms the email address. */
export const confirmPath = "/oauth/confirm"

/** Asks for a second factor after a sign-in (R66). */
export const secondFactorPath = "/oauth/second-factor"

/** The dashboard's page for a second factor that the operator requires. */
export const enrollPath = "/dashboard/second-factor"

/** Linked in emails about sign-ins from new places. */
export const endSessionPath = "/oauth/end-session"

/** Linked in invitations to an account. */
export const joinPath = "/oauth/join"

/** The request of an app that continues at this path after a sign-in. */
export const appQueryOf = (path: string): string | undefined =>
  path.startsWith(`${signInPath}?`) ? path.slice(signInPath.length + 1) : undefined

export const authPath = "/api/auth"

export const resourcePath = "/mcp"

export const resourceOf = (baseUrl: string): string => `${baseUrl}${resourcePath}`

/**
 * Returns `resourceOf(baseUrl)` for an address of the MCP endpoint, however it is written, and other addresses unchanged.
 * Programs send the address that a person gave them: in capitals, with its default port, a slash at the end or a query
 * that chooses tools.
 */
export const canonicalResource = (address: string, baseUrl: string): string => {
  const resource = resourceOf(baseUrl)
  const url = parseAddress(address)
  if (url === null || address.includes("#") || url.username !== "" || url.password !== "") return address
  const same = new URL(resource)
  return url.origin === same.origin && url.pathname.replace(/\/$/, "") === same.pathname ? resource : address
}

/** True for https and loopback. Plain http would expose tokens. */
export const canAuthorizeApps = (baseUrl: string): boolean => {
  const url = new URL(baseUrl)
  return url.protocol === "https:" || isLoopbackHost(hostOf(url))
}

/** Schemes of MCP clients that do not use a reversed domain name, which RFC 8252 requires. */
const clientSchemes: ReadonlySet<string> = new Set(
  [
    "antigravity",
    "cherrystudio",
    "claude",
    "cursor",
    "goose",
    "jetbrains",
    "kiro",
    "lmstudio",
    "raycast",
    "trae",
    "vscode",
    "vscode-insiders",
    "vscodium",
    "warp",
    "windsurf",
    "zed"
  ].map((name) => `${name}:`)
)

const isReversedDomain = (scheme: string): boolean => {
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(scheme)) return false
  const { domain, isIcann } = parse(scheme.split(".").toReversed().join("."))
  return isIcann === true && domain !== null
}

/** True for `cursor://anysphere.cursor-retrieval/callback`. Other schemes could make the browser open any program. */
export const isPrivateUseScheme = (address: string): boolean =>
  /^[a-z][a-z0-9.+-]*:\/\/[a-z0-9.-]+(?:[/?]|$)/i.test(address) &&
  isAllowedRedirect(address) &&
  !/^https?:/i.test(address)

export const isAllowedRedirect = (address: string): boolean => {
  const url = parseAddress(address)
  if (url === null || /[#\s\p{C}]/u.test(address)) return false
  if (url.protocol === "https:") return true
  if (url.protocol === "http:") return isLoopbackHost(hostOf(url))
  // Rejects URIs without a path, such as `com.example.app:callback`.
  if (!/^[^:]+:\//.test(address)) return false
  return clientSchemes.has(url.protocol) || isReversedDomain(url.protocol.slice(0, -1))
}

const protectedResourcePath = "/.well-known/oauth-protected-resource"

export const protectedResourcePaths = [`${protectedResourcePath}${resourcePath}`, protectedResourcePath] as const

export const authorizationServerPaths = [
  `/.well-known/oauth-authorization-server${authPath}`,
  "/.well-known/oauth-authorization-server",
  `${authPath}/.well-known/oauth-authorization-server`
] as const

const maxQueryCharacters = 1_000

/**
 * The query of a request's URL with its question mark, because apps compare the metadata's resource with the address
 * that they called (RFC 9728 section 3.3). Empty if it cannot be part of a quoted string in a header.
 */
export const resourceQueryOf = (requestUrl: string): string => {
  const [, query = ""] = /^[^?#]*(\?[!$-[\]-~]+)$/.exec(requestUrl) ?? []
  return query.length > maxQueryCharacters ? "" : query
}

/** `query` is that of the request for the metadata. */
export const protectedResource = (baseUrl: string, query = "") => ({
  resource: `${resourceOf(baseUrl)}${query}`,
  authorization_servers: [`${baseUrl}${authPath}`],
  scopes_supported: toolScopes,
  bearer_methods_supported: ["header"],
  resource_name: "Quarry"
})

export const authorizationServer = (baseUrl: string) => {
  const issuer = `${baseUrl}${authPath}`
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth2/authorize`,
    token_endpoint: `${issuer}/oauth2/token`,
    registration_endpoint: `${issuer}/oauth2/register`,
    revocation_endpoint: `${issuer}/oauth2/revoke`,
    scopes_supported: appScopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true
  }
}

/** `query` is that of the request for which the challenge is. */
const metadataPart = (baseUrl: string, query: string): string =>
  `resource_metadata="${baseUrl}${protectedResourcePaths[0]}${query}"`

/** For a 401 from the MCP endpoint: the `WWW-Authenticate` header of RFC 9728 and RFC 6750. */
export const challengeOf = (baseUrl: string, hasToken: boolean, query = ""): string | undefined =>
  canAuthorizeApps(baseUrl)
    ? `Bearer ${hasToken ? 'error="invalid_token", ' : ""}${metadataPart(baseUrl, query)}, scope="${toolScopes.join(" ")}"`
    : undefined

/** The `WWW-Authenticate` header for a token that lacks a scope. The app then asks for all of `scopes`. */
export const scopeChallenge = (baseUrl: string, scopes: ReadonlyArray<ToolScope>, query = ""): string =>
  `Bearer error="insufficient_scope", scope="${scopes.join(" ")}", ${metadataPart(baseUrl, query)}, ` +
  'error_description="the person must allow this first"'

/** Leaves out the error code if there was no token (RFC 6750, 3.1). */
export const keyChallenge = (hasToken: boolean): string =>
  hasToken ? 'Bearer realm="quarry", error="invalid_token"' : 'Bearer realm="quarry"'
