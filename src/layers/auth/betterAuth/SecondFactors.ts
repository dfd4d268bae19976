import { passkey } from "@better-auth/passkey"
import type { BetterAuthPlugin } from "better-auth"
import { APIError, getOAuthState, getSessionFromCtx, isAPIError } from "better-auth/api"
import { deleteSessionCookie } from "better-auth/cookies"
import { generateRandomString } from "better-auth/crypto"
import { twoFactor } from "better-auth/plugins/two-factor"
import { Duration, Effect, Predicate, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { secondFactorPath } from "../../../domain/accounts/OAuth.ts"
import { freshSignInRequired, secondFactorRequired } from "../../../domain/errors.ts"
import { ownPath } from "../../../domain/requests/ownPath.ts"
import { waitText } from "../../../domain/text.ts"
import { freshFor } from "../../../services/accounts/Sessions.ts"
import { rowOf } from "../../sql/Rows.ts"
import type { AttemptLimit, Attempts } from "../Attempts.ts"
import type { KnownBrowsers } from "../KnownBrowsers.ts"
import { currentNotes } from "../Requester.ts"
import type { Bridge } from "./Database.ts"
import type { LibraryOptions } from "./Options.ts"
import { type HookContext, textOf } from "./PasswordHooks.ts"
import { factors } from "./Tables.ts"

interface Deps {
  readonly options: LibraryOptions
  readonly sql: SqlClient.SqlClient
  readonly bridge: Bridge
  readonly attempts: Attempts
  readonly browsers: KnownBrowsers
}

/** For a person to enter a code after the password. */
const challengeLifetime = Duration.minutes(10)

/** A code is valid for a minute and a half, with the clocks' tolerance. */
const replayLimit: AttemptLimit = { name: "used codes", max: 1, window: Duration.minutes(2) }

/**
 * Codes for one person from a known browser, or from all other browsers together: a person whose password is known to
 * others can still sign in where they have signed in before.
 */
const codeLimit: AttemptLimit = { name: "codes", max: 10, window: Duration.minutes(15) }

/** `after` replaces the library's own hook, which asks for a code only after passwords, and `codeLimit` its rate limit. */
export const plugins = ({ baseUrl }: LibraryOptions): Array<BetterAuthPlugin> => {
  const library = twoFactor({ allowPasswordless: true, accountLockout: { enabled: false }, schema: factors })
  // Columns of the library's lockout of the account, which would also lock out the person.
  const { failedVerificationCount: _, lockedUntil: __, ...fields } = library.schema.twoFactor.fields
  const schema = { ...library.schema, twoFactor: { ...library.schema.twoFactor, fields } }
  const passkeys = passkey({
    rpID: new URL(baseUrl).hostname,
    rpName: "Quarry",
    origin: new URL(baseUrl).origin,
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    registration: { afterVerification: ({ verification }) => requireVerifiedUser(verification.registrationInfo) },
    authentication: { afterVerification: ({ verification }) => requireVerifiedUser(verification.authenticationInfo) },
    advanced: { webAuthnChallengeCookie: "passkey" },
    schema: { passkey: factors.passkey }
  })
  // The cast is safe: the types differ in documentation fields, and no column is missing that the library uses.
  return [{ ...library, hooks: {}, rateLimit: [], schema }, passkeys] as unknown as Array<BetterAuthPlugin>
}

/** The library asks for the person's fingerprint or PIN, and accepts a passkey without it. */
const requireVerifiedUser = (info: { readonly userVerified: boolean } | undefined): void => {
  if (info?.userVerified !== true) throw new Error("The authenticator did not verify the person.")
}

const totpPath = "/two-factor/verify-totp"
const registrationPath = "/passkey/verify-registration"
const codePaths: ReadonlySet<string> = new Set([totpPath, "/two-factor/verify-backup-code"])

const factorChanges = /^\/(?:two-factor\/(?!verify)|passkey\/(?:generate-register|verify-registration|delete))/

const passwordPath = "/change-password"

/** For a session without the second factor that the operator requires. */
const enrolledOnly: ReadonlySet<string> = new Set(["/oauth2/consent", passwordPath])

const methodRow = rowOf(Schema.Struct({ totp: Schema.Boolean, passkey: Schema.Boolean }))

const methodsOf = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.map(
    methodRow(sql`
      select exists (select from auth_authenticators where user_id = ${userId} and verified) as totp,
        exists (select from auth_passkeys where user_id = ${userId}) as passkey`),
    (row) => (["totp", "passkey"] as const).filter((method) => row?.[method] === true)
  )

const forbid = ({ _tag, message }: { readonly _tag: string; readonly message: string }) =>
  new APIError("FORBIDDEN", { code: _tag, message })

export const before = async (deps: Deps, context: HookContext) => {
  const { path = "" } = context
  if (codePaths.has(path)) return countCode(deps, context)
  const isChange = factorChanges.test(path)
  const needsFactor = deps.options.requiresSecondFactor === true && enrolledOnly.has(path)
  if (!isChange && !needsFactor && path !== passwordPath) return undefined
  const session = await getSessionFromCtx(context)
  if (session === null) return undefined
  const { id } = session.user
  if (needsFactor && (await deps.bridge.run(methodsOf(deps.sql, id))).length === 0) throw forbid(secondFactorRequired)
  // A new password renews the session, and an operator's is renewed only with the second factor.
  const needsFreshSignIn = isChange || (path === passwordPath && (await deps.bridge.run(isOperator(deps.sql, id))))
  const age = Date.now() - session.session.createdAt.getTime()
  if (needsFreshSignIn && age > Duration.toMillis(freshFor)) throw forbid(freshSignInRequired)
  if (!isChange) return undefined
  const notes = currentNotes()
  notes.isConfirmed = true
  if (path === registrationPath) notes.adding = session.session
  return Predicate.isObject(context.body)
    ? { context: { body: { ...context.body, password: "confirmed" } } }
    : undefined
}

/** The person that a code is for: of the session that sets up an app, or of a sign-in that waits for the code. */
const personOf = async ({ bridge, sql }: Deps, context: HookContext) => {
  const session = await getSessionFromCtx(context)
  const userId = await waitingIn(context)
  const isOwn = session !== null && userId === session.user.id
  // A signed-in person who signs in again has an app already, and one who sets an app up does not have it yet.
  const isAgain = isOwn && (await bridge.run(methodsOf(sql, userId))).includes("totp")
  if (session !== null && !isAgain) {
    currentNotes().adding = session.session
    return { person: session.user, isAgain }
  }
  return { person: userId === undefined ? null : await context.context.internalAdapter.findUserById(userId), isAgain }
}

/** Without the session, for which the library would take the code. */
const withoutSession = ({ context, headers }: HookContext): Headers => {
  const { name } = context.authCookies.sessionToken
  const cookies = (headers?.get("cookie") ?? "").split("; ").filter((cookie) => !cookie.startsWith(`${name}=`))
  return new Headers({ cookie: cookies.join("; ") })
}

/** The ID of the person whose sign-in waits for a second factor in this browser. */
const waitingIn = async ({ context, getSignedCookie }: HookContext): Promise<string | undefined> => {
  const identifier = await getSignedCookie(context.createAuthCookie("two_factor").name, context.secret)
  return identifier ? (await context.internalAdapter.findVerificationValue(identifier))?.value : undefined
}

/** Replaces a used code with a text that is never valid, so that the library counts a wrong attempt. */
const countCode = async (deps: Deps, context: HookContext) => {
  const { attempts, bridge, browsers } = deps
  const { body, path } = context
  const { isAgain, person } = await personOf(deps, context)
  if (!person || !Predicate.isObject(body)) return undefined
  const browser = await bridge.run(browsers.identify(context.headers?.get("cookie") ?? null, person.email))
  const key = `${browser ?? "others"} ${person.id}`
  const seconds = await bridge.run(attempts.count(codeLimit, key))
  if (seconds !== undefined) {
    const message = `Too many wrong codes were entered for this account. Try again in ${waitText(seconds)}.`
    throw new APIError("TOO_MANY_REQUESTS", { message }, { "x-retry-after": String(seconds) })
  }
  currentNotes().codeKey = key
  const code = textOf(body, "code").replaceAll(/\s/g, "")
  const isUsed =
    path === totpPath && (await bridge.run(attempts.count(replayLimit, `${person.id} ${code}`))) !== undefined
  const headers = isAgain ? { headers: withoutSession(context) } : {}
  return { context: { body: { ...body, code: isUsed ? "used" : code }, ...headers } }
}

/** The library responds 500, as if the server had failed. */
const notVerified = () => new APIError("BAD_REQUEST", { message: "The passkey could not be verified. Try again." })

/** Ends sessions from before the person's first factor, because they were opened without it. */
const endUnproven = (sql: SqlClient.SqlClient, userId: string, sessionId: string) =>
  sql.withTransaction(
    Effect.andThen(
      // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
      sql`select 1 from auth_users where id = ${userId} for update`,
      sql`
        delete from auth_sessions where user_id = ${userId} and id <> ${sessionId} and 1 =
          (select count(*) from auth_authenticators where user_id = ${userId} and verified)
          + (select count(*) from auth_passkeys where user_id = ${userId})`
    )
  )

/** True for a session that replaces another, or that a second factor opens after another sign-in. */
export const continues = async (userId: string, context: HookContext | null): Promise<boolean> => {
  if (context === null) return false
  if (/^\/two-factor\/|^\/change-password$/.test(context.path ?? "")) return true
  return isPasskey(context) && (await waitingIn(context)) === userId
}

const isPasskey = ({ path = "" }: HookContext): boolean => path.startsWith("/passkey/")

const operatorRow = rowOf(Schema.Struct({ user_id: Schema.String }))

const isOperator = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.map(operatorRow(sql`select user_id from operators where user_id = ${userId}`), (row) => row !== undefined)

/**
 * True for a new session that must wait for a second factor. A signed-in browser has given it before, which is not
 * enough for an operator: a stolen session and the password would change every customer's account.
 */
export const mustWait = async (
  deps: Deps,
  userId: string,
  context: HookContext | null,
  isSignedIn: Effect.Effect<boolean, unknown>
) => {
  if (context !== null && isPasskey(context)) return false
  const waits = Effect.gen(function* () {
    if ((yield* methodsOf(deps.sql, userId)).length === 0) return false
    return !(yield* isSignedIn) || (yield* isOperator(deps.sql, userId))
  })
  const mustWait = await deps.bridge.run(waits)
  if (mustWait) currentNotes().waiting = userId
  return mustWait
}

/** The response to a sign-in that waits for a second factor. Replaces the library's, which says that it failed. */
export const after = async (deps: Deps, context: HookContext) => {
  const { bridge, sql } = deps
  const { adding, codeKey, waiting } = currentNotes()
  const { newSession, returned } = context.context
  if (waiting !== undefined) return answer(deps, context, waiting)
  if (isAPIError(returned)) {
    if (returned.statusCode === 500 && context.path === registrationPath) throw notVerified()
    return undefined
  }
  if (codeKey !== undefined) await bridge.run(deps.attempts.forget(codeLimit, codeKey))
  if (adding !== undefined) await bridge.run(endUnproven(sql, adding.userId, newSession?.session.id ?? adding.id))
  return undefined
}

/** Starts the attempt as the library's own hook does: a cookie names it, and its wrong codes are counted. */
const challenge = async (context: HookContext, userId: string): Promise<void> => {
  const { createAuthCookie, internalAdapter, secret } = context.context
  // Somebody who signs in again stays signed in without the code. The library would take it for the other person.
  if ((await getSessionFromCtx(context))?.user.id !== userId) deleteSessionCookie(context, true)
  const maxAge = Duration.toSeconds(challengeLifetime)
  const expiresAt = new Date(Date.now() + maxAge * 1000)
  const identifier = `2fa-${generateRandomString(20)}`
  await internalAdapter.createVerificationValue({ value: userId, identifier, expiresAt })
  await internalAdapter.createVerificationValue({ value: "0", identifier: `2fa-attempts-${identifier}`, expiresAt })
  const cookie = createAuthCookie("two_factor", { maxAge })
  await context.setSignedCookie(cookie.name, identifier, secret, cookie.attributes)
}

const answer = async ({ bridge, options, sql }: Deps, context: HookContext, userId: string) => {
  await challenge(context, userId)
  const isForm = context.path === "/sign-in/email"
  const target = isForm ? textOf(context.body ?? {}, "callbackURL") : (await getOAuthState())?.callbackURL
  const next = ownPath(target ?? "", options.baseUrl)
  const url = `${options.baseUrl}${secondFactorPath}${next ? `?${new URLSearchParams({ next })}` : ""}`
  if (!isForm) return context.redirect(url)
  const twoFactorMethods = await bridge.run(methodsOf(sql, userId))
  // A response of its own, because the status of the failure would stay.
  return Response.json({ redirect: true, url, twoFactorRedirect: true, twoFactorMethods })
}
