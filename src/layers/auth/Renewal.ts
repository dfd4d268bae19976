import { Array as Arr, Effect, Predicate, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { accessTokenPrefix, refreshTokenPrefix } from "../../domain/OAuth.ts"
import type { Keyring } from "../../services/Keyrings.ts"
import { digestOf, isSignedBy, signatureOf } from "./Digest.ts"

/*
 * During a rotation of AUTH_SECRET the library knows only the secret in use. What a request presents of the other one is
 * made anew before the library sees the request: signatures of cookies, and digests of tokens in the database.
 */

/** A larger body holds no token: the library refuses it. */
const maxBodyCharacters = 16_384

/** A cookie's value and its HMAC-SHA256 in base64, percent-encoded as the library does. */
const signedCookiePattern = /^(\s*[^=]+=)(.+)(?:\.|%2E)([0-9A-Za-z+/]{43}=)$/

const renewCookie = (keyring: Keyring, cookie: string): string => {
  const [present, ...others] = keyring.values()
  const decoded = cookie.replaceAll(/%2[BF]|%3D/gi, decodeURIComponent)
  const [, name, text, signature] = signedCookiePattern.exec(decoded) ?? []
  if (name === undefined || text === undefined || signature === undefined) return cookie
  const isOther = others.some(({ secret }) => isSignedBy(secret, text, signature))
  return isOther ? `${name}${encodeURIComponent(`${text}.${signatureOf(present.secret, text)}`)}` : cookie
}

/** The tokens in a request: of its session, and in its body. */
const tokensIn = (cookies: ReadonlyArray<string>, body: string) => {
  const session = cookies.flatMap((cookie) => /session_token=([0-9A-Za-z]{32})(?:\.|%2E)/.exec(cookie)?.[1] ?? [])
  const fields = fieldsOf(body)
  const field = (name: string) => (fields[name] === undefined ? [] : [fields[name]])
  return { session, code: field("code"), refresh: field("refresh_token"), any: field("token") }
}

const fieldsOf = (body: string): Readonly<Record<string, string>> => {
  if (!body.startsWith("{")) return Object.fromEntries(new URLSearchParams(body))
  try {
    const json: unknown = JSON.parse(body)
    const entries = Predicate.isObject(json) ? Object.entries(json) : []
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"))
  } catch {
    return {}
  }
}

/** Each table with a digest that a token may have in it, by one secret. The order is the same for each secret. */
const digestsBy = (secret: Redacted.Redacted, tokens: ReturnType<typeof tokensIn>) => {
  const by = (purpose: string, token: string) => digestOf(secret, purpose, token)
  return [
    ...tokens.session.map((token) => ["auth_sessions", by("session", token)] as const),
    ...[...tokens.refresh, ...tokens.any].map(
      (token) => ["auth_refresh_tokens", by("refresh_token", token.replace(refreshTokenPrefix, ""))] as const
    ),
    ...tokens.any.map(
      (token) => ["auth_access_tokens", by("access_token", token.replace(accessTokenPrefix, ""))] as const
    ),
    ...tokens.any.map((token) => ["auth_verifications", by("verification", `reset-password:${token}`)] as const),
    ...tokens.code.map((code) => ["auth_verifications", by("verification", by("authorization_code", code))] as const)
  ]
}

/** The request as the library knows it by the secret in use. Without a rotation it is the request itself. */
export const renewTokens = Effect.fnUntraced(function* (keyring: Keyring, request: Request) {
  const [present, ...others] = keyring.values()
  if (others.length === 0) return request
  const sql = yield* SqlClient.SqlClient
  const cookies = (request.headers.get("cookie") ?? "").split(";")
  const body = request.body === null ? "" : yield* Effect.promise(() => request.clone().text())
  const tokens = tokensIn(cookies, body.length > maxBodyCharacters ? "" : body)
  const wanted = digestsBy(present.secret, tokens)
  for (const { secret } of others) {
    for (const [[table, digest], [, renewed]] of Arr.zip(digestsBy(secret, tokens), wanted)) {
      yield* Effect.orDie(sql`update ${sql(table)} set digest = ${renewed} where digest = ${digest}`)
    }
  }
  const renewed = new Request(request)
  if (request.headers.has("cookie")) {
    renewed.headers.set("cookie", cookies.map((cookie) => renewCookie(keyring, cookie)).join(";"))
  }
  return renewed
})
