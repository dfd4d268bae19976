import type { BetterAuthOptions } from "better-auth"
import { APIError, createAuthMiddleware } from "better-auth/api"
import { generateRandomString } from "better-auth/crypto"
import { betterAuth } from "better-auth/minimal"
import { Duration, Effect, Predicate, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { maxEmailCharacters } from "../../domain/emailAddress.ts"
import { authPath, canAuthorizeApps, failurePath } from "../../domain/OAuth.ts"
import { Emails } from "../../services/Emails.ts"
import type { SecretValue } from "../../services/Keyrings.ts"
import { maxSessions } from "../../services/Sessions.ts"
import { StoreClock } from "../../services/StoreClock.ts"
import { type Attempts, makeAttempts } from "./Attempts.ts"
import { type Bridge, makeBridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { endTokens } from "./EndTokens.ts"
import { type KnownBrowsers, makeKnownBrowsers } from "./KnownBrowsers.ts"
import { type Mail, makeMail } from "./Mail.ts"
import { type Membership, makeMembership } from "./Membership.ts"
import { makeOAuth } from "./OAuth.ts"
import { rewriteAppRequest, rewriteAppResponse } from "./OAuthRequests.ts"
import type { LibraryOptions, ProviderClient } from "./Options.ts"
import * as PasswordHooks from "./PasswordHooks.ts"
import { makePasswordSlots, type PasswordSlots } from "./PasswordSlots.ts"
import { currentNotes, withRequester } from "./Requester.ts"
import { addIssues, emailIn, readRequest } from "./Requests.ts"
import { linkLifetime } from "./ResetToken.ts"
import { limitBody } from "./Responses.ts"
import * as SignUps from "./SignUps.ts"
import { makeStore, tables } from "./Store.ts"

/** The files that import the sign-in library take half a second and 60 MB: `Library.ts` loads this one on demand. */

const limits = {
  /** The lifetime of a session that is not used. A session in use is extended once a day. */
  session: Duration.days(7),
  /** For one request, with the calls to an identity provider in it. */
  request: Duration.seconds(30),
  nameCharacters: 100,
  /** Of a message of the library in the log. */
  logCharacters: 200,
  userAgentCharacters: 256,
  /** Expired sessions that one sign-in deletes at most. */
  deletedSessions: 1000
}

/** Carries the client's address to the library. The value that a client sends under this name is replaced. */
const addressHeader = "x-quarry-client"

interface Deps {
  readonly options: LibraryOptions
  readonly sql: SqlClient.SqlClient
  readonly skewMs: () => number
  readonly bridge: Bridge
  readonly attempts: Attempts
  readonly slots: PasswordSlots
  readonly signUps: SignUps.SignUps
  readonly browsers: KnownBrowsers
  readonly mail: Mail
  readonly membership: Membership
  /** False without a mail server. */
  readonly deliversEmails: boolean
}

/** Sets up the library: the result handles a request of a client at an address. */
export const make = Effect.fnUntraced(function* (options: LibraryOptions) {
  const deps = yield* makeDeps(options)
  const { bridge, browsers } = deps
  const auth = betterAuth(yield* configure(deps))

  const handle = async (request: Request, client: string | undefined): Promise<Response> => {
    const valid = await readRequest(request, options.baseUrl)
    const rewritten = valid instanceof Response ? valid : await rewriteAppRequest(valid, options.baseUrl)
    if (rewritten instanceof Response) return rewritten
    const path = new URL(rewritten.url).pathname.slice(authPath.length)
    const cookies = rewritten.headers.get("cookie")
    const email = await emailIn(path, rewritten)
    const browser = email === undefined ? undefined : await bridge.run(browsers.identify(cookies, email))
    const addressed = new Request(rewritten)
    addressed.headers.set(addressHeader, (client ?? "").split("/", 1).join(""))
    const response = await withRequester({ address: client ?? "", browser }, () => auth.handler(addressed))
    return path.startsWith("/oauth2/")
      ? rewriteAppResponse(`${authPath}${path}`, await limitBody(path, response), options.baseUrl)
      : addIssues(path, await limitBody(path, response))
  }

  return (request: Request, client: string | undefined) =>
    bridge
      .serve(() => handle(request, client))
      .pipe(
        Effect.timeoutOrElse({
          duration: limits.request,
          orElse: () => Effect.die(new Error(`sign-in took more than ${Duration.format(limits.request)}`))
        })
      )
})

const makeDeps = Effect.fnUntraced(function* (options: LibraryOptions) {
  const { delivers } = yield* Emails
  const attempts = yield* makeAttempts(options.secret)
  const signUps = yield* SignUps.makeSignUps(options.signUp, attempts)
  const makeToken = (characters: number) => generateRandomString(characters, "a-z", "A-Z", "0-9")
  const deps: Deps = {
    options,
    sql: yield* SqlClient.SqlClient,
    skewMs: (yield* StoreClock).skewMs,
    bridge: yield* makeBridge,
    attempts,
    slots: yield* makePasswordSlots,
    signUps,
    browsers: yield* makeKnownBrowsers({ ...options, makeToken }),
    mail: yield* makeMail(options, attempts, makeToken),
    membership: yield* makeMembership({ confirmedOnly: delivers, signUps }),
    deliversEmails: delivers
  }
  return deps
})

const configure = Effect.fnUntraced(function* (deps: Deps) {
  const { bridge, options } = deps
  const oauth = canAuthorizeApps(options.baseUrl) ? yield* makeOAuth(options, bridge) : undefined
  return {
    ...siteOptions(options),
    ...storageOptions(deps),
    plugins: oauth === undefined ? [] : [oauth],
    emailAndPassword: passwordOptions(deps),
    emailVerification: confirmationOptions(deps),
    socialProviders: {
      ...(options.google && { google: providerOptions(options.google) }),
      ...(options.github && { github: providerOptions(options.github) })
    },
    logger: { log: (level, message) => void bridge.run(logMessage(level, message)) },
    hooks: hooksOf(deps),
    databaseHooks: {
      user: { create: { before: async (user) => ({ data: { ...user, ...(await checkPerson(deps, user)) } }) } },
      session: { create: { before: (session) => prepareSession(deps, session) } }
    }
  } satisfies BetterAuthOptions
})

/** Run around each route of the library. */
const hooksOf = (deps: Deps) => {
  const { bridge, browsers } = deps
  return {
    before: createAuthMiddleware(async (context) => {
      await SignUps.before(deps, context)
      return PasswordHooks.before(deps, context)
    }),
    after: createAuthMiddleware(async (context) => {
      await PasswordHooks.after(deps, context)
      const { newSession } = context.context
      if (newSession === null) return
      const cookies = context.headers?.get("cookie") ?? null
      const value = await bridge.run(browsers.remember(cookies, newSession.user.id))
      context.setCookie(browsers.name, value, browsers.attributes)
    })
  }
}

/** The library wants a number for each secret, by which it finds the one that a text was encrypted with. */
const toVersion = ({ fingerprint, secret }: SecretValue) => ({
  version: Number.parseInt(fingerprint.slice(0, 8) || "0", 16),
  value: Redacted.value(secret)
})

/** The site that the library serves, and the requests that it trusts. */
const siteOptions = ({ baseUrl, secret, values }: LibraryOptions) =>
  ({
    appName: "Quarry",
    baseURL: baseUrl,
    basePath: authPath,
    secret: Redacted.value(secret),
    // One value too: without its number, a process with two would not read what a process with one has encrypted.
    secrets: values.map(toVersion),
    trustedOrigins: [new URL(baseUrl).origin],
    telemetry: { enabled: false },
    onAPIError: { errorURL: `${baseUrl}${failurePath}` },
    advanced: {
      cookiePrefix: "quarry",
      ipAddress: { ipAddressHeaders: [addressHeader] },
      disableOriginCheck: false,
      disableCSRFCheck: false
    }
  }) satisfies BetterAuthOptions

/** The library's tables, and the lifetime of what they hold. */
const storageOptions = ({ bridge, options, skewMs, sql }: Deps) =>
  ({
    database: makeStore({
      bridge,
      skewMs,
      digest: (model, token) => digestOf(options.secret, model, token),
      onSessionStart: (userId) => endOldestSession(sql, userId),
      onSessionsEnd: (userId) => endTokens(sql, userId)
    }),
    user: tables.user,
    verification: tables.verification,
    account: {
      ...tables.account,
      // Encrypted in the cookie of the browser that started the sign-in. In the database a client could make it any size.
      storeStateStrategy: "cookie",
      // A sign-in by a provider and one by a password are the same person once both have proven the address.
      accountLinking: { enabled: true, requireLocalEmailVerified: true }
    },
    session: {
      ...tables.session,
      expiresIn: Duration.toSeconds(limits.session),
      updateAge: Duration.toSeconds(Duration.days(1)),
      // A cached session outlives its end.
      cookieCache: { enabled: false }
    },
    rateLimit: {
      ...tables.rateLimit,
      enabled: true,
      storage: "database",
      // A browser that the account knows is limited by its own wrong passwords, and not by its address.
      customRules: {
        "/sign-in/email": (_, rule) => (currentNotes().requester.browser === undefined ? rule : false)
      }
    }
  }) satisfies BetterAuthOptions

const passwordOptions = ({ attempts, bridge, deliversEmails, mail, slots, sql }: Deps) =>
  ({
    enabled: true,
    requireEmailVerification: deliversEmails,
    maxPasswordLength: PasswordHooks.maxPasswordCharacters,
    password: PasswordHooks.makeHashing({ bridge, slots }),
    revokeSessionsOnPasswordReset: true,
    // The token came by mail, so that its reader is confirmed as the address's owner.
    onPasswordReset: ({ user }) =>
      bridge.run(
        Effect.andThen(
          sql`update auth_users set email_verified = true where id = ${user.id}`,
          Effect.asVoid(PasswordHooks.forgive({ attempts }, currentNotes().requester, user.email))
        )
      ),
    resetPasswordTokenExpiresIn: Duration.toSeconds(linkLifetime),
    sendResetPassword: async (link) => mail.sendReset(currentNotes().requester, link),
    // They may have lost the first email, or somebody else signed up with their address.
    onExistingUserSignUp: async ({ user }, request) => {
      if (user.emailVerified) return
      const { requester } = currentNotes()
      await bridge.run(mail.sendConfirmation(requester, { user, url: await signUpLinkOf(request) }))
    }
  }) satisfies BetterAuthOptions["emailAndPassword"]

const confirmationOptions = ({ bridge, mail }: Deps) =>
  ({
    sendOnSignUp: true,
    sendOnSignIn: true,
    sendVerificationEmail: (link) => bridge.run(mail.sendConfirmation(currentNotes().requester, link))
  }) satisfies BetterAuthOptions["emailVerification"]

/**
 * Sign-in by redirect only: a client may have obtained an id token elsewhere, so that it does not prove that its person
 * meant to sign in here. An address that the provider has not verified signs nobody in.
 */
const providerOptions = ({ clientId, clientSecret }: ProviderClient) => ({
  clientId,
  clientSecret: Redacted.value(clientSecret),
  disableIdTokenSignIn: true,
  requireEmailVerification: true
})

/**
 * Logs a message of the library. Its errors and warnings are mistakes of clients; our own failures answer 500, which is
 * logged as an error elsewhere. The message may quote a client, so it is cut. Its other arguments are dropped, because
 * they may hold everything that the client sent.
 */
const logMessage = (level: string, message: string) => {
  const text = message.slice(0, limits.logCharacters).replaceAll(/\p{Cc}/gu, " ")
  const log = level === "debug" ? Effect.logDebug : Effect.logInfo
  return log(`Sign-in: ${text}`)
}

/** The link that the library makes for a sign-up: only its `callbackURL` is read. */
const signUpLinkOf = async (request: Request | undefined): Promise<string> => {
  const body: unknown = await request?.json().catch(() => undefined)
  const callbackURL = Predicate.hasProperty(body, "callbackURL") ? String(body.callbackURL) : ""
  return `/?${new URLSearchParams({ callbackURL })}`
}

/** Checks a new person's address, and bounds what a client or a provider says about the person. */
const checkPerson = async (deps: Deps, { email, name }: { readonly email: string; readonly name: string }) => {
  if (email.length > maxEmailCharacters) {
    throw new APIError("BAD_REQUEST", { code: "EMAIL_TOO_LONG", message: "The email address is too long." })
  }
  await SignUps.beforePerson(deps, email)
  // Postgres has no NUL in texts.
  return { name: name.replaceAll("\0", "").slice(0, limits.nameCharacters), image: null }
}

/** Deletes expired sessions. Skips rows that another sign-in deletes, because the two could deadlock. */
const deleteExpiredSessions = (sql: SqlClient.SqlClient) => sql`
  delete from auth_sessions where id in (
    select id from auth_sessions where expires_at < clock_timestamp() limit ${limits.deletedSessions} for update skip locked
  )`

/**
 * Ends the oldest of a person's live sessions, so that a new one is not one too many. Other sign-ins of the person wait for
 * the lock; tokens of apps, which refer to the person, do not.
 */
const endOldestSession = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.andThen(
    sql`select 1 from auth_users where id = ${userId} for no key update`,
    sql`
      delete from auth_sessions where id in (
        select id from auth_sessions where user_id = ${userId} and expires_at > clock_timestamp()
        order by created_at desc, id desc offset ${maxSessions - 1}
      )`
  )

/** Gives the person of a new session an account: at a sign-up in the transaction that makes the person. */
const prepareSession = async <
  Session extends { readonly userId: string; readonly userAgent?: string | null | undefined }
>(
  { bridge, membership, sql }: Deps,
  session: Session
) => {
  await bridge.run(Effect.andThen(deleteExpiredSessions(sql), membership.join(session.userId)))
  return { data: { ...session, userAgent: session.userAgent?.slice(0, limits.userAgentCharacters) ?? null } }
}
