import { AsyncLocalStorage } from "node:async_hooks"
import type { BetterAuthOptions } from "better-auth"
import { APIError, createAuthMiddleware, isAPIError } from "better-auth/api"
import { generateRandomString, hashPassword } from "better-auth/crypto"
import { betterAuth } from "better-auth/minimal"
import { Duration, Effect, Predicate, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { authPath, canAuthorizeApps, failurePath } from "../../domain/OAuth.ts"
import { maxEmailCharacters } from "../../domain/Plan.ts"
import { Emails } from "../../services/Emails.ts"
import { type AttemptLimit, type Attempts, makeAttempts } from "./Attempts.ts"
import { isCommonPassword } from "./commonPasswords.ts"
import { type Bridge, makeBridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { linkLife, makeMail } from "./Mail.ts"
import { makeMembership } from "./Membership.ts"
import { endTokens, makeOAuth } from "./OAuth.ts"
import { admitted, ownAnswer } from "./OAuthRequests.ts"
import { readRequest, withField } from "./Requests.ts"
import { makeStore, tables } from "./Store.ts"

/** Everything that loads the sign-in library: half a second and 60 MB. `SessionsBetterAuth` imports it when it is needed. */

/** What a deployment is known by at an identity provider. */
export interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

export interface SessionsOptions {
  /** The address clients use, without a trailing slash. */
  readonly baseUrl: string
  readonly secret: Redacted.Redacted
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
}

const limits = {
  /** Of a session that is not used; one that is used is extended once a day. */
  session: Duration.days(7),
  /** For an answer, with the calls to an identity provider in it. */
  answer: Duration.seconds(30),
  passwordCharacters: 128,
  nameCharacters: 100,
  /** Of a message of the library in the log. */
  logCharacters: 200,
  userAgentCharacters: 256
}

/**
 * Sign-ins with a password for one address, known here or not, until one succeeds: guesses from many places are as many.
 * A new password by mail ends the wait.
 */
const passwordLimit: AttemptLimit = { name: "passwords", max: 10, window: Duration.minutes(15) }

/** Carries the client's address to the library; what a client sends under this name is replaced. */
const clientHeader = "x-quarry-client"

/**
 * Hashes made ahead, by password, for as long as one request. The library hashes a new person's password inside the
 * transaction that makes them, and a tenth of a second of work would keep a connection, the embedded database's only
 * one, from everybody else.
 */
const hashedAhead = new AsyncLocalStorage<Map<string, string>>()

/** The library, set up: answers a request of a client at an address. */
export const make = Effect.fnUntraced(function* (options: SessionsOptions) {
  const bridge = yield* makeBridge
  const auth = betterAuth(yield* configure(options, bridge))

  const answer = async (request: Request, client: string | undefined): Promise<Response> => {
    const read = await readRequest(request, options.baseUrl)
    const asked = read instanceof Response ? read : await admitted(read, options.baseUrl)
    if (asked instanceof Response) return asked
    const { pathname } = new URL(asked.url)
    const counted = new Request(asked)
    counted.headers.set(clientHeader, (client ?? "").split("/", 1).join(""))
    const response = await hashedAhead.run(new Map(), () => auth.handler(counted))
    return pathname.startsWith(`${authPath}/oauth2/`)
      ? ownAnswer(pathname, response, options.baseUrl)
      : withField(pathname.slice(authPath.length), response)
  }

  return (request: Request, client: string | undefined) =>
    bridge
      .serve(() => answer(request, client))
      .pipe(
        Effect.timeoutOrElse({
          duration: limits.answer,
          orElse: () => Effect.die(new Error(`sign-in took more than ${Duration.format(limits.answer)}`))
        })
      )
})

const configure = Effect.fnUntraced(function* (options: SessionsOptions, bridge: Bridge) {
  const sql = yield* SqlClient.SqlClient
  const emails = yield* Emails
  const { join } = yield* makeMembership({ verifiedOnly: emails.delivers })
  const oauth = canAuthorizeApps(options.baseUrl) ? yield* makeOAuth(options, bridge) : undefined
  const attempts = yield* makeAttempts(options.secret)
  const mail = yield* makeMail(options, attempts, (length) => generateRandomString(length, "a-z", "A-Z", "0-9"))

  const confirm = (userId: string) => sql`update auth_users set email_verified = true where id = ${userId}`

  /** Those that nobody came back to. Skips what another sign-in removes, so that two cannot wait for each other. */
  const expireSessions = sql`
    delete from auth_sessions
    where id in (select id from auth_sessions where expires_at < clock_timestamp() limit 1000 for update skip locked)`

  return {
    appName: "Quarry",
    baseURL: options.baseUrl,
    basePath: authPath,
    secret: Redacted.value(options.secret),
    trustedOrigins: [new URL(options.baseUrl).origin],
    telemetry: { enabled: false },
    plugins: oauth === undefined ? [] : [oauth],
    onAPIError: { errorURL: `${options.baseUrl}${failurePath}` },
    database: makeStore(
      bridge,
      (model, token) => digestOf(options.secret, model, token),
      (userId) => endTokens(sql, userId)
    ),
    user: tables.user,
    verification: tables.verification,
    account: {
      ...tables.account,
      // Encrypted in the browser that asked, which is the only one to come back with it. In the database it would be as
      // large as a client likes.
      storeStateStrategy: "cookie",
      // A person who signs in by a provider and by password is one person, once both have proven the address.
      accountLinking: { enabled: true, requireLocalEmailVerified: true }
    },
    session: {
      ...tables.session,
      expiresIn: Duration.toSeconds(limits.session),
      updateAge: Duration.toSeconds(Duration.days(1)),
      // A cached session outlives its end.
      cookieCache: { enabled: false }
    },
    emailAndPassword: {
      enabled: true,
      requireEmailVerification: emails.delivers,
      maxPasswordLength: limits.passwordCharacters,
      password: { hash: async (password) => hashedAhead.getStore()?.get(password) ?? hashPassword(password) },
      revokeSessionsOnPasswordReset: true,
      // Who opened the link reads the address's emails, and whoever signed up with it before has lost the password.
      onPasswordReset: ({ user }) =>
        bridge.run(Effect.asVoid(Effect.andThen(confirm(user.id), attempts.forget(passwordLimit, user.email)))),
      resetPasswordTokenExpiresIn: Duration.toSeconds(linkLife),
      sendResetPassword: async (link) => mail.sendReset(link),
      // They may have lost the first email, or somebody else signed up before them.
      onExistingUserSignUp: async ({ user }, request) => {
        if (!user.emailVerified) await bridge.run(mail.sendConfirmation({ user, url: await confirmationOf(request) }))
      }
    },
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      autoSignInAfterVerification: false,
      expiresIn: Duration.toSeconds(linkLife),
      sendVerificationEmail: (link) => bridge.run(mail.sendConfirmation(link)),
      afterEmailVerification: (user) => bridge.run(join(user.id))
    },
    socialProviders: {
      ...(options.google && { google: provider(options.google) }),
      ...(options.github && { github: provider(options.github) })
    },
    rateLimit: { ...tables.rateLimit, enabled: true, storage: "database" },
    advanced: {
      cookiePrefix: "quarry",
      ipAddress: { ipAddressHeaders: [clientHeader] },
      disableOriginCheck: false,
      disableCSRFCheck: false
    },
    logger: {
      // Its errors and warnings are mistakes of clients: a failure of ours is an answer of 500, which is logged as one.
      // A message may quote what a client sent, and what comes with it may hold all of that.
      log: (level, message) => {
        const text = message.slice(0, limits.logCharacters).replaceAll(/\p{Cc}/gu, " ")
        const log = level === "debug" ? Effect.logDebug : Effect.logInfo
        void bridge.run(log(`Sign-in: ${text}`))
      }
    },
    hooks: {
      before: createAuthMiddleware((context) => before(context, bridge, attempts)),
      after: createAuthMiddleware((context) => after(context, bridge, attempts))
    },
    databaseHooks: {
      user: {
        create: {
          before: async (user) => {
            if (user.email.length > maxEmailCharacters) {
              throw new APIError("BAD_REQUEST", { code: "EMAIL_TOO_LONG", message: "The email address is too long." })
            }
            // Postgres refuses a NUL.
            const name = user.name.replaceAll("\0", "").slice(0, limits.nameCharacters)
            return { data: { ...user, name, image: null } }
          }
        }
      },
      session: {
        create: {
          // In the sign-up's own transaction: a person, their account and their first session are made together.
          before: async (session) => {
            await bridge.run(Effect.andThen(expireSessions, join(session.userId)))
            return { data: { ...session, userAgent: session.userAgent?.slice(0, limits.userAgentCharacters) ?? null } }
          }
        }
      }
    }
  } satisfies BetterAuthOptions
})

/**
 * Redirects only: a token that a client obtained elsewhere is no proof that its person meant to sign in here. An address
 * that the provider has not verified signs nobody in.
 */
const provider = ({ clientId, clientSecret }: ProviderClient) => ({
  clientId,
  clientSecret: Redacted.value(clientSecret),
  disableIdTokenSignIn: true,
  requireEmailVerification: true
})

/** What a sign-up's link would be, from which its page to go on to is read. */
const confirmationOf = async (request: Request | undefined): Promise<string> => {
  const body: unknown = await request?.json().catch(() => undefined)
  const named = Predicate.hasProperty(body, "callbackURL") ? String(body.callbackURL) : ""
  return `/?${new URLSearchParams({ callbackURL: named })}`
}

interface HookContext {
  readonly body?: unknown
  readonly path?: string
  readonly context: { readonly returned?: unknown }
}

const textOf = (body: object, name: string): string => {
  const value: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" ? value : ""
}

/** Where each route has a password that is about to be kept. */
const newPasswords: Readonly<Record<string, string>> = {
  "/sign-up/email": "password",
  "/change-password": "newPassword",
  "/reset-password": "newPassword"
}

/** What happens before the library looks at a request. */
const before = async ({ body, path = "" }: HookContext, bridge: Bridge, attempts: Attempts) => {
  if (!Predicate.isObject(body)) return undefined
  const field = newPasswords[path]
  const password = field === undefined ? "" : textOf(body, field)
  if (isCommonPassword(password)) {
    throw new APIError("BAD_REQUEST", { code: "PASSWORD_TOO_COMMON", message: "This password is too common." })
  }
  if (path === "/sign-in/email") {
    // Counted before the password is looked at: of many at once, each is one.
    const seconds = await bridge.run(attempts.count(passwordLimit, textOf(body, "email")))
    if (seconds !== undefined) {
      const message = "Too many sign-ins failed for this address. Wait, or choose a new password by mail."
      throw new APIError("TOO_MANY_REQUESTS", { message }, { "x-retry-after": String(seconds) })
    }
  }
  // Whoever changes a password may do it because somebody else knows the old one.
  if (path === "/change-password") return { context: { body: { ...body, revokeOtherSessions: true } } }
  if (path === "/sign-up/email" && password.length <= limits.passwordCharacters) {
    hashedAhead.getStore()?.set(password, await hashPassword(password))
  }
  return undefined
}

/** A password that was right ends the count of wrong ones, also where the address has yet to be confirmed. */
const after = async ({ body, context, path }: HookContext, bridge: Bridge, attempts: Attempts) => {
  if (path !== "/sign-in/email" || !Predicate.isObject(body)) return
  const refusal = isAPIError(context.returned) ? context.returned.statusCode : 200
  if (refusal === 200 || refusal === 403) await bridge.run(attempts.forget(passwordLimit, textOf(body, "email")))
}
