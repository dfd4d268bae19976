import { isKey } from "./ApiKey.ts"

/** The kinds of credential a request can present; each has a `Principal` of the same name. */
export type CredentialKind = "key" | "oauth" | "marketplace" | "session" | "demo"

/** What a request carries of each kind, as it was sent; undefined where it carries nothing, empty where it is empty. */
export interface CredentialHeaders {
  readonly authorization: string | undefined
  readonly marketplaceSecret: string | undefined
  readonly marketplaceUser: string | undefined
  /** Every value of the session cookie: more than one when it was sent more than once. */
  readonly sessionCookies: ReadonlyArray<string>
  readonly demoOrigin: string | undefined
}

/**
 * The one credential of a request that is judged (R22); undefined when it carries none, or a combination that is
 * refused whatever its validity. The first kind present wins, and nothing falls through to the next.
 */
export const credentialKind = (presented: CredentialHeaders): CredentialKind | undefined => {
  const bearer = presented.authorization !== undefined
  const marketplace = presented.marketplaceSecret !== undefined || presented.marketplaceUser !== undefined
  const session = presented.sessionCookies.length > 0
  const demo = presented.demoOrigin !== undefined
  if (demo && (bearer || marketplace || session)) return undefined
  if (bearer && marketplace) return undefined
  if (presented.authorization !== undefined) return bearerKind(presented.authorization)
  if (marketplace) return "marketplace"
  if (session) return "session"
  return demo ? "demo" : undefined
}

/** Keys and the tokens of apps come in one header and are told apart by their form: neither is tried as the other. */
const bearerKind = (authorization: string): CredentialKind => {
  const token = bearerToken(authorization)
  return token === undefined || isKey(token) ? "key" : "oauth"
}

const bearer = /^Bearer +(\S+)$/i

/** The token of an `Authorization` header; undefined for another scheme and where there is none. */
export const bearerToken = (authorization: string): string | undefined => bearer.exec(authorization)?.[1]

/** The values of a cookie, as the `Cookie` header holds them: neither unquoted nor percent-decoded. */
export const cookieValues = (header: string | undefined, name: string): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header.split(";").flatMap((pair) => {
        const trimmed = pair.trim()
        return trimmed.startsWith(`${name}=`) ? [trimmed.slice(name.length + 1)] : []
      })

/** Bytes that are no ASCII come as Latin-1, so the C1 controls among them are parts of other characters. */
const marketplaceUser = /^[[^,\p{Cc}]\u0080-\u009f]{1,256}$/v

/**
 * Whether text can name a marketplace subscriber: 1 to 256 characters, without control characters, and without a comma,
 * which is how a header that was sent twice arrives: once by the caller and once by the proxy.
 */
export const isMarketplaceUser = (text: string): boolean => marketplaceUser.test(text)
