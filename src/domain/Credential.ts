import { isKey } from "./ApiKey.ts"

/** The kinds of credential. Each has a `Principal` of the same name. */
export type CredentialKind = "key" | "oauth" | "marketplace" | "session" | "demo"

/** The headers of a request that hold credentials, as they were sent; undefined where a header is absent. */
export interface CredentialHeaders {
  readonly authorization: string | undefined
  readonly marketplaceSecret: string | undefined
  readonly marketplaceUser: string | undefined
  /** Every value of the session cookie, because a request may contain it several times. */
  readonly sessionCookies: ReadonlyArray<string>
  readonly demoOrigin: string | undefined
}

/**
 * The kind of credential by which a request is authenticated (R22). The first kind present wins, also where it is
 * invalid. Undefined where there is none, or a combination that is never accepted.
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

/** The kind of an `Authorization` header. Keys and access tokens differ in form, so that each is looked up only once. */
const bearerKind = (authorization: string): CredentialKind => {
  const token = bearerToken(authorization)
  return token === undefined || isKey(token) ? "key" : "oauth"
}

const bearer = /^Bearer +(\S+)$/i

/** The token of an `Authorization` header; undefined for another scheme or without a token. */
export const bearerToken = (authorization: string): string | undefined => bearer.exec(authorization)?.[1]

/** The values of a cookie in a `Cookie` header, with their quotes and percent-encoding. */
export const cookieValues = (header: string | undefined, name: string): ReadonlyArray<string> =>
  header === undefined
    ? []
    : header.split(";").flatMap((pair) => {
        const trimmed = pair.trim()
        return trimmed.startsWith(`${name}=`) ? [trimmed.slice(name.length + 1)] : []
      })

/** Allows U+0080 to U+009F: Node decodes headers as Latin-1, so that these are bytes of UTF-8 characters. */
const marketplaceUser = /^[[^,\p{Cc}]\u0080-\u009f]{1,256}$/v

/**
 * Checks a marketplace subscriber's id: 1 to 256 characters, no control character, no comma. A comma would mean that the
 * header was sent twice, by the caller and by the proxy.
 */
export const isMarketplaceUser = (text: string): boolean => marketplaceUser.test(text)
