import { parse } from "tldts"

/**
 * What apps read about signing in on behalf of a person (OAuth 2.1), and where. There is one thing to be let in to, the
 * MCP endpoint, and every token is bound to it.
 */

/** What an app may be allowed. `offline_access` is the standard's name for refresh tokens. */
export const appScopes = ["search", "offline_access"] as const

/** Begins every access token, so that secret scanners recognise one. */
export const accessTokenPrefix = "quarry_at_"

export const signInPath = "/oauth/sign-in"
export const signUpPath = "/oauth/sign-up"
export const consentPath = "/oauth/consent"
export const failurePath = "/oauth/error"
/** Where the link in an email leads whose reader confirms their address. */
export const confirmPath = "/oauth/confirm"

/** Where sign-in is, and the issuer of its tokens. */
export const authPath = "/api/auth"

export const resourcePath = "/mcp"

/** The resource that tokens are bound to (RFC 8707), by the address that clients use. */
export const resourceOf = (baseUrl: string): string => `${baseUrl}${resourcePath}`

const isThisMachine = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname)

/** Tokens travel in the open over http, so apps are let in over https only, and on this very machine. */
export const canAuthorizeApps = (baseUrl: string): boolean => {
  const { hostname, protocol } = new URL(baseUrl)
  return protocol === "https:" || isThisMachine(hostname)
}

/** Schemes of apps that let people connect an MCP server, and are no domain's name turned around. */
const knownSchemes: ReadonlySet<string> = new Set(
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

/** A scheme that is its maker's domain turned around (RFC 8252 section 7.1): `com.example.app`. */
const isReversedDomain = (scheme: string): boolean => {
  if (!/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(scheme)) return false
  const { domain, isIcann } = parse(scheme.split(".").toReversed().join("."))
  return isIcann === true && domain !== null
}

/**
 * Whether an address is of an app's own scheme, with a name behind it: `cursor://anysphere.cursor-retrieval/callback`.
 * Of other schemes nobody can know what browsers and systems open with them.
 */
export const isPrivateUseScheme = (address: string): boolean =>
  /^[a-z][a-z0-9.+-]*:\/\/[a-z0-9.-]+(?:[/?]|$)/i.test(address) &&
  isAllowedRedirect(address) &&
  !/^https?:/i.test(address)

/** Whether an app may be answered at an address: over https, on this machine, or by a scheme that is the app's own. */
export const isAllowedRedirect = (address: string): boolean => {
  const url = URL.parse(address)
  if (url === null || /[#\s\p{C}]/u.test(address)) return false
  if (url.protocol === "https:") return true
  if (url.protocol === "http:") return isThisMachine(url.hostname)
  // `com.example.app:callback` is no address with a path.
  if (!/^[^:]+:\//.test(address)) return false
  return knownSchemes.has(url.protocol) || isReversedDomain(url.protocol.slice(0, -1))
}

const protectedResourcePath = "/.well-known/oauth-protected-resource"

/** Paths of the protected resource's metadata: RFC 9728 inserts the resource's own path, and some clients leave it out. */
export const protectedResourcePaths = [`${protectedResourcePath}${resourcePath}`, protectedResourcePath] as const

/** Paths of the authorization server's metadata: as RFC 8414 has it, and the others that clients try. */
export const authorizationServerPaths = [
  `/.well-known/oauth-authorization-server${authPath}`,
  "/.well-known/oauth-authorization-server",
  `${authPath}/.well-known/oauth-authorization-server`
] as const

/** RFC 9728. */
export const protectedResource = (baseUrl: string) => ({
  resource: resourceOf(baseUrl),
  authorization_servers: [`${baseUrl}${authPath}`],
  scopes_supported: appScopes,
  bearer_methods_supported: ["header"],
  resource_name: "Quarry"
})

/** RFC 8414: what is offered of the sign-in library, which has more. */
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

/** The `WWW-Authenticate` of a 401 at the MCP endpoint (RFC 9728, RFC 6750); undefined where no app is let in. */
export const challengeOf = (baseUrl: string, presented: boolean): string | undefined =>
  canAuthorizeApps(baseUrl)
    ? `Bearer ${presented ? 'error="invalid_token", ' : ""}resource_metadata="${baseUrl}${protectedResourcePaths[0]}"`
    : undefined

/** The `WWW-Authenticate` of a 401 where keys are taken; without an `Authorization` there is no token to call invalid. */
export const keyChallenge = (presented: boolean): string =>
  presented ? 'Bearer realm="quarry", error="invalid_token"' : 'Bearer realm="quarry"'
