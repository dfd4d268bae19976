import { timingSafeEqual } from "node:crypto"
import { Duration, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { cookieValues } from "../../domain/accounts/Credential.ts"
import { normalizeEmail } from "../../domain/accounts/emailAddress.ts"
import { rowOf } from "../sql/Rows.ts"
import { digestOf } from "./betterAuth/Digest.ts"
import type { LibraryOptions } from "./betterAuth/Options.ts"

// Browsers that have signed in before (R66). The cookie has one signature for each person who signed in there. It
// covers the password hash, so a new password invalidates it on every replica, and it does not reveal the person.

const maxPeople = 5

const lifetime = Duration.days(365)

const idCharacters = 22

const cookiePattern = new RegExp(`^([0-9A-Za-z]{${idCharacters}})((?:\\.[\\w-]{43}){1,${maxPeople}})$`)

const personRow = rowOf(Schema.Struct({ id: Schema.String, password: Schema.NullOr(Schema.String) }))

interface Options extends Pick<LibraryOptions, "baseUrl" | "secret" | "values"> {
  readonly makeToken: (characters: number) => string
}

interface KnownCookie {
  readonly browser: string
  readonly signatures: ReadonlyArray<string>
}

const readCookie = (cookies: string | null, name: string): KnownCookie | undefined => {
  const [value, second] = cookieValues(cookies ?? undefined, name)
  const [, browser, signatures = ""] = cookiePattern.exec(value ?? "") ?? []
  return browser === undefined || second !== undefined
    ? undefined
    : { browser, signatures: signatures.slice(1).split(".") }
}

const isEqual = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one), Buffer.from(other))

export const makeKnownBrowsers = Effect.fnUntraced(function* ({ baseUrl, makeToken, secret, values }: Options) {
  const sql = yield* SqlClient.SqlClient
  const isSecure = baseUrl.startsWith("https:")
  const name = `${isSecure ? "__Secure-" : ""}quarry.known_browser`

  const readPerson = (condition: ReturnType<typeof sql.and>) =>
    personRow(sql`
      select u.id, i.password from auth_users u
      left join auth_identities i on i.user_id = u.id and i.provider = 'credential' where ${condition}`)

  const sign = (
    by: LibraryOptions["secret"],
    browser: string,
    { id, password }: { id: string; password: string | null }
  ) => digestOf(by, "known browser", `${browser}:${id}:${password ?? ""}`)

  const identify = Effect.fnUntraced(function* (cookies: string | null, email: string) {
    const cookie = readCookie(cookies, name)
    if (cookie === undefined) return undefined
    const person = yield* readPerson(sql.and([sql`u.email = ${normalizeEmail(email).replaceAll("\0", "")}`]))
    if (person === undefined) return undefined
    const expected = values.map(({ secret }) => sign(secret, cookie.browser, person))
    const isKnown = cookie.signatures.some((signature) => expected.some((valid) => isEqual(valid, signature)))
    return isKnown ? cookie.browser : undefined
  })

  const remember = Effect.fnUntraced(function* (cookies: string | null, userId: string) {
    const cookie = readCookie(cookies, name)
    const person = yield* readPerson(sql.and([sql`u.id = ${userId}`]))
    const browser = cookie?.browser ?? makeToken(idCharacters)
    const latest = sign(secret, browser, person ?? { id: userId, password: null })
    const others = cookie?.signatures.filter((signature) => signature !== latest) ?? []
    return [browser, latest, ...others].slice(0, maxPeople + 1).join(".")
  })

  const attributes = {
    path: "/",
    httpOnly: true,
    secure: isSecure,
    sameSite: "lax",
    maxAge: Duration.toSeconds(lifetime)
  } as const

  return { name, attributes, identify, remember }
})

export type KnownBrowsers = Effect.Success<ReturnType<typeof makeKnownBrowsers>>
