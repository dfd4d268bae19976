import { isKey } from "../keys/ApiKey.ts"

export type CredentialKind = "key" | "oauth" | "marketplace" | "session" | "demo"

export interface CredentialHeaders {
  readonly authorization: string | undefined
  readonly marketplaceSecret: string | undefined
  readonly marketplaceUser: string | undefined
  readonly sessionCookies: ReadonlyArray<string>
  readonly demoOrigin: string | undefined
}

/** The first credential present, valid or not (R22). Undefined for none and for combinations that are rejected. */
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

/** Keys and access tokens look different, so only one of them has to be looked up. */
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

/** Rejects commas: a comma means that both the caller and the marketplace's proxy sent the header. */
export const isMarketplaceUser = (text: string): boolean => marketplaceUser.test(text)
