import { Effect, Predicate, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { accessTokenPrefix, refreshTokenPrefix } from "../../../domain/accounts/OAuth.ts"
import { hasTooManyParameters } from "../../../domain/requests/parameters.ts"
import type { Keyring } from "../../../services/operations/Keyrings.ts"
import { digestOf, isSignedBy, signatureOf } from "./Digest.ts"

// The library knows only the current AUTH_SECRET. During a rotation, signatures and token digests that were made with
// the other secret are therefore renewed before the library sees a request.

/** A larger body has no token: the library rejects it. */
const maxBodyCharacters = 16_384

/** Browsers send one or two, and each takes several statements. */
const maxSessionCookies = 4

/** A cookie's value and its HMAC-SHA256 in base64, percent-encoded like the library does. */
const signedCookiePattern = /^([^=]+=)(.+)(?:\.|%2E)([0-9A-Za-z+/]{43}=)$/

const renewCookie = (keyring: Keyring, cookie: string): string => {
  const [present, ...others] = keyring.values()
  const decoded = cookie.replaceAll(/%2[BF]|%3D/gi, decodeURIComponent)
  const [, name, text, signature] = signedCookiePattern.exec(decoded) ?? []
  if (name === undefined || text === undefined || signature === undefined) return cookie
  const isOther = others.some(({ secret }) => isSignedBy(secret, text, signature))
  return isOther ? `${name}${encodeURIComponent(`${text}.${signatureOf(present.secret, text)}`)}` : cookie
}

const renewAppRequest = (keyring: Keyring, request: string): string => {
  const [present, ...others] = keyring.values()
  if (hasTooManyParameters(request)) return request
  const parameters = new URLSearchParams(request)
  const signature = parameters.get("sig") ?? ""
  parameters.delete("sig")
  const inOrder = [...parameters].sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
  const text = String(new URLSearchParams(inOrder))
  if (!others.some(({ secret }) => isSignedBy(secret, text, signature))) return request
  return `${text}&${new URLSearchParams({ sig: signatureOf(present.secret, text) })}`
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (body: string): Fields => {
  if (!body.startsWith("{")) return hasTooManyParameters(body) ? {} : Object.fromEntries(new URLSearchParams(body))
  try {
    const json: unknown = JSON.parse(body)
    return Predicate.isObject(json) ? { ...json } : {}
  } catch {
    return {}
  }
}

const tokensIn = (cookies: ReadonlyArray<string>, fields: Fields) => {
  const session = cookies
    .flatMap((cookie) => /session_token=([0-9A-Za-z]{32})(?:\.|%2E)/.exec(cookie)?.[1] ?? [])
    .slice(0, maxSessionCookies)
  const challenge = cookies.flatMap(
    (cookie) => /(?:two_factor|passkey)=([-\w]{24,32})(?:\.|%2E)/.exec(cookie)?.[1] ?? []
  )
  const field = (name: string) => [fields[name]].filter(Predicate.isString)
  return {
    session,
    challenge: challenge.slice(0, maxSessionCookies),
    code: field("code"),
    refresh: field("refresh_token"),
    any: field("token")
  }
}

const digestsBy = (secret: Redacted.Redacted, tokens: ReturnType<typeof tokensIn>) => {
  const digest = (purpose: string) => (token: string) => digestOf(secret, purpose, token)
  const codes = tokens.code.map(digest("authorization_code"))
  const refresh = [...tokens.refresh, ...tokens.any].map((token) => token.replace(refreshTokenPrefix, ""))
  const access = tokens.any.map((token) => token.replace(accessTokenPrefix, ""))
  const challenges = tokens.challenge.flatMap((name) => [name, `2fa-attempts-${name}`]).map(digest("verification"))
  const verifications = [...tokens.any.map((token) => `reset-password:${token}`), ...codes]
  return [
    ["auth_sessions", "digest", tokens.session.map(digest("session"))],
    ["auth_refresh_tokens", "digest", refresh.map(digest("refresh_token"))],
    ["auth_access_tokens", "digest", access.map(digest("access_token"))],
    ["auth_verifications", "digest", verifications.map(digest("verification"))],
    ["auth_verifications", "digest", challenges],
    // A code that is used twice revokes the tokens issued for it.
    ["auth_refresh_tokens", "code_digest", codes],
    ["auth_access_tokens", "code_digest", codes]
  ] as const
}

const renewDigests = Effect.fnUntraced(function* (keyring: Keyring, tokens: ReturnType<typeof tokensIn>) {
  const sql = yield* SqlClient.SqlClient
  const [present, ...others] = keyring.values()
  const renewed = digestsBy(present.secret, tokens)
  for (const { secret } of others) {
    for (const [place, [table, column, digests]] of digestsBy(secret, tokens).entries()) {
      for (const [index, digest] of digests.entries()) {
        const changes = { [column]: renewed[place]?.[2][index] ?? digest }
        yield* Effect.orDie(sql`update ${sql(table)} set ${sql.update(changes)} where ${sql(column)} = ${digest}`)
      }
    }
  }
})

export const renewTokens = Effect.fnUntraced(function* (keyring: Keyring, request: Request) {
  if (keyring.values().length === 1) return request
  const cookies = (request.headers.get("cookie") ?? "").split(";")
  const body = request.body === null ? "" : yield* Effect.promise(() => request.clone().text())
  const fields = body.length > maxBodyCharacters ? {} : fieldsOf(body)
  yield* renewDigests(keyring, tokensIn(cookies, fields))
  const { oauth_query } = fields
  const renewed =
    typeof oauth_query === "string" && body.startsWith("{")
      ? withBody(request, JSON.stringify({ ...fields, oauth_query: renewAppRequest(keyring, oauth_query) }))
      : new Request(request)
  if (request.headers.has("cookie")) {
    renewed.headers.set("cookie", cookies.map((cookie) => renewCookie(keyring, cookie)).join(";"))
  }
  return renewed
})

const withBody = (request: Request, body: string): Request => {
  const headers = new Headers(request.headers)
  headers.delete("content-length")
  return new Request(request.url, { method: request.method, headers, body })
}
