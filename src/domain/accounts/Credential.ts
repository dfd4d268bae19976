import { isKey } from "../keys/ApiKey.ts"

export type CredentialKind = "key" | "oauth" | "marketplace" | "session" | "demo"

export interface CredentialHeaders {
  readonly authorization: string | undefined
  readonly marketplaceSecret: string | undefined
  readonly marketplaceUser: string | undefined
  /** All session cookies, because a request may contain several. */
  readonly sessionCookies: ReadonlyArray<string>
  readonly demoOrigin: string | undefined
}

/**
 * The credential that authenticates a request (R22): the first one present, even if it is invalid. Undefined without a
 * credential, or for combinations that are never accepted.
 */
export const credentialKind = (headers: CredentialHeaders): CredentialKind | undefined => {
  const bearer = headers.authorization !== undefined
  const marketplace = headers.marketplaceSecret !== undefined || headers.marketplaceUser !== undefined
  const session = headers.sessionCookies.length > 0
  const demo = headers.demoOrigin !== undefined
  if (demo && (bearer || marketplace || session)) return undefined
  if (bearer && marketplace) return undefined
  if (headers.authorization !== undefined) return bearerKind(headers.authorization)
  if (marketplace) return "marketplace"
  if (session) return "session"
  return demo ? "demo" : undefined
}

/** Keys and access tokens differ in form, so that only one of them is looked up. */
const bearerKind = (authorization: string): CredentialKind => {
  const token = bearerToken(authorization)
  return token === undefined || isKey(token) ? "key" : "oauth"
}

const bearer = /^Bearer +(\S+)$/i

export const bearerToken = (authorization: string): string | undefined => bearer.exec(authorization)?.[1]

/** Still quoted and percent-encoded. */
export const cookieValues = (header: string | undefined, name: string): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header.split(";").flatMap((pair) => {
        const trimmed = pair.trim()
        return trimmed.startsWith(`${name}=`) ? [trimmed.slice(name.length + 1)] : []
      })

/** Allows U+0080 to U+009F: Node decodes headers as Latin-1, so these are bytes of UTF-8 characters. */
const marketplaceUser = /^[[^,\p{Cc}]\u0080-\u009f]{1,256}$/v

/**
 * Checks a marketplace user ID: 1 to 256 characters without control characters or commas. A comma means that the header
 * was sent twice, by the caller and by the proxy.
 */
export const isMarketplaceUser = (text: string): boolean => marketplaceUser.test(text)
