import { parse } from "tldts"
import { parseAddress } from "./address.ts"
import { hostOf, isLoopbackHost } from "./Network.ts"

/**
 * OAuth 2.1 for apps: paths, metadata, redirect URIs and challenges. The only protected resource is the MCP endpoint,
 * and every token is bound to it.
 */

/** The scopes of apps. `offline_access` is the standard's name for refresh tokens. */
export const appScopes = ["search", "offline_access"] as const

/** The prefix of access tokens, so that secret scanners recognise them. */
export const accessTokenPrefix = "quarry_at_"
export const refreshTokenPrefix = "quarry_rt_"

export const signInPath = "/oauth/sign-in"
export const signUpPath = "/oauth/sign-up"
export const forgotPasswordPath = "/oauth/forgot-password"
export const consentPath = "/oauth/consent"
export const failurePath = "/oauth/error"
/** The page behind the links of emails: its reader chooses a password and so confirms the address. */
export const confirmPath = "/oauth/confirm"

/** The path of sign-in, and of the issuer of tokens. */
export const authPath = "/api/auth"

export const resourcePath = "/mcp"

/** The resource that tokens are bound to (RFC 8707), under the URL that clients use. */
export const resourceOf = (baseUrl: string): string => `${baseUrl}${resourcePath}`

/** Checks if a deployment may authorize apps: over https or on the loopback, because plain http exposes tokens. */
export const canAuthorizeApps = (baseUrl: string): boolean => {
  const url = new URL(baseUrl)
  return url.protocol === "https:" || isLoopbackHost(hostOf(url))
}

/** URI schemes of MCP clients that are no reversed domain name, as RFC 8252 would have it. */
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

/** Checks for a reversed domain name as scheme (RFC 8252, 7.1): `com.example.app`. */
const isReversedDomain = (scheme: string): boolean => {
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(scheme)) return false
  const { domain, isIcann } = parse(scheme.split(".").toReversed().join("."))
  return isIcann === true && domain !== null
}

/**
 * Checks for a redirect URI of an app's private-use scheme with a host: `cursor://anysphere.cursor-retrieval/callback`.
 * Other schemes could make a browser open any program.
 */
export const isPrivateUseScheme = (address: string): boolean =>
  /^[a-z][a-z0-9.+-]*:\/\/[a-z0-9.-]+(?:[/?]|$)/i.test(address) &&
  isAllowedRedirect(address) &&
  !/^https?:/i.test(address)

/** Checks a redirect URI: https, http on the loopback, or a private-use scheme of an app. */
export const isAllowedRedirect = (address: string): boolean => {
  const url = parseAddress(address)
  if (url === null || /[#\s\p{C}]/u.test(address)) return false
  if (url.protocol === "https:") return true
  if (url.protocol === "http:") return isLoopbackHost(hostOf(url))
  // Rejects `com.example.app:callback`, which has no path.
  if (!/^[^:]+:\//.test(address)) return false
  return clientSchemes.has(url.protocol) || isReversedDomain(url.protocol.slice(0, -1))
}

const protectedResourcePath = "/.well-known/oauth-protected-resource"

/** Paths of the protected resource's metadata. RFC 9728 appends the resource's path, and some clients leave it out. */
export const protectedResourcePaths = [`${protectedResourcePath}${resourcePath}`, protectedResourcePath] as const

/** Paths of the authorization server's metadata: that of RFC 8414, and the others that clients try. */
export const authorizationServerPaths = [
  `/.well-known/oauth-authorization-server${authPath}`,
  "/.well-known/oauth-authorization-server",
  `${authPath}/.well-known/oauth-authorization-server`
] as const

/** The protected resource's metadata (RFC 9728). */
export const protectedResource = (baseUrl: string) => ({
  resource: resourceOf(baseUrl),
  authorization_servers: [`${baseUrl}${authPath}`],
  scopes_supported: appScopes,
  bearer_methods_supported: ["header"],
  resource_name: "Quarry"
})

/** The authorization server's metadata (RFC 8414). The sign-in library can do more than is offered here. */
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
    authorization_response_iss_parameter_supported: true
  }
}

/** The `WWW-Authenticate` of a 401 at the MCP endpoint (RFC 9728, RFC 6750); undefined where apps are not offered. */
export const challengeOf = (baseUrl: string, hasToken: boolean): string | undefined =>
  canAuthorizeApps(baseUrl)
    ? `Bearer ${hasToken ? 'error="invalid_token", ' : ""}resource_metadata="${baseUrl}${protectedResourcePaths[0]}"`
    : undefined

/** The `WWW-Authenticate` of a 401 where keys are accepted. Without a token there is no error code (RFC 6750, 3.1). */
export const keyChallenge = (hasToken: boolean): string =>
  hasToken ? 'Bearer realm="quarry", error="invalid_token"' : 'Bearer realm="quarry"'
