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
import { StoreClock } from "../../services/StoreClock.ts"
import { type Attempts, makeAttempts } from "./Attempts.ts"
import { type Bridge, makeBridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { endTokens } from "./EndTokens.ts"
import { type Mail, makeMail } from "./Mail.ts"
import { type Membership, makeMembership } from "./Membership.ts"
import { makeOAuth } from "./OAuth.ts"
import { rewriteAppRequest, rewriteAppResponse } from "./OAuthRequests.ts"
import type { LibraryOptions, ProviderClient } from "./Options.ts"
import * as PasswordHooks from "./PasswordHooks.ts"
import { addIssues, readRequest } from "./Requests.ts"
import { linkLifetime } from "./ResetToken.ts"
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
  readonly mail: Mail
  readonly membership: Membership
  /** False without a mail server. */
  readonly deliversEmails: boolean
}

/** Sets up the library: the result handles a request of a client at an address. */
export const make = Effect.fnUntraced(function* (options: LibraryOptions) {
  const bridge = yield* makeBridge
  const auth = betterAuth(yield* configure(options, bridge))

  const handle = async (request: Request, address: string | undefined): Promise<Response> => {
    const valid = await readRequest(request, options.baseUrl)
    const rewritten = valid instanceof Response ? valid : await rewriteAppRequest(valid, options.baseUrl)
    if (rewritten instanceof Response) return rewritten
    const { pathname } = new URL(rewritten.url)
    const addressed = new Request(rewritten)
    addressed.headers.set(addressHeader, (address ?? "").split("/", 1).join(""))
    const response = await PasswordHooks.withHashes(() => auth.handler(addressed))
    return pathname.startsWith(`${authPath}/oauth2/`)
      ? rewriteAppResponse(pathname, response, options.baseUrl)
      : addIssues(pathname.slice(authPath.length), response)
  }

  return (request: Request, address: string | undefined) =>
    bridge
      .serve(() => handle(request, address))
      .pipe(
        Effect.timeoutOrElse({
          duration: limits.request,
          orElse: () => Effect.die(new Error(`sign-in took more than ${Duration.format(limits.request)}`))
        })
      )
})

const configure = Effect.fnUntraced(function* (options: LibraryOptions, bridge: Bridge) {
  const { delivers } = yield* Emails
  const attempts = yield* makeAttempts(options.secret)
  const makeToken = (characters: number) => generateRandomString(characters, "a-z", "A-Z", "0-9")
  const deps: Deps = {
    options,
    sql: yield* SqlClient.SqlClient,
    skewMs: (yield* StoreClock).skewMs,
    bridge,
    attempts,
    mail: yield* makeMail(options, attempts, makeToken),
    membership: yield* makeMembership({ confirmedOnly: delivers }),
    deliversEmails: delivers
  }
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
    hooks: {
      before: createAuthMiddleware((context) => PasswordHooks.before(deps, context)),
      after: createAuthMiddleware((context) => PasswordHooks.after(deps, context))
    },
    databaseHooks: {
      user: { create: { before: async (user) => ({ data: { ...user, ...checkPerson(user) } }) } },
      session: { create: { before: (session) => prepareSession(deps, session) } }
    }
  } satisfies BetterAuthOptions
})

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
    rateLimit: { ...tables.rateLimit, enabled: true, storage: "database" }
  }) satisfies BetterAuthOptions

const passwordOptions = ({ attempts, bridge, deliversEmails, mail, sql }: Deps) =>
  ({
    enabled: true,
    requireEmailVerification: deliversEmails,
    maxPasswordLength: PasswordHooks.maxPasswordCharacters,
    password: { hash: PasswordHooks.hash },
    revokeSessionsOnPasswordReset: true,
    // The token came by mail, so that its reader is confirmed as the address's owner.
    onPasswordReset: ({ user }) =>
      bridge.run(
        Effect.gen(function* () {
          yield* sql`update auth_users set email_verified = true where id = ${user.id}`
          yield* attempts.forget(PasswordHooks.passwordLimit, user.email)
        })
      ),
    resetPasswordTokenExpiresIn: Duration.toSeconds(linkLifetime),
    sendResetPassword: async (link) => mail.sendReset(link),
    // They may have lost the first email, or somebody else signed up with their address.
    onExistingUserSignUp: async ({ user }, request) => {
      if (!user.emailVerified) await bridge.run(mail.sendConfirmation({ user, url: await signUpLinkOf(request) }))
    }
  }) satisfies BetterAuthOptions["emailAndPassword"]

const confirmationOptions = ({ bridge, mail }: Deps) =>
  ({
    sendOnSignUp: true,
    sendOnSignIn: true,
    sendVerificationEmail: (link) => bridge.run(mail.sendConfirmation(link))
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
const checkPerson = ({ email, name }: { readonly email: string; readonly name: string }) => {
  if (email.length > maxEmailCharacters) {
    throw new APIError("BAD_REQUEST", { code: "EMAIL_TOO_LONG", message: "The email address is too long." })
  }
  // Postgres has no NUL in texts.
  return { name: name.replaceAll("\0", "").slice(0, limits.nameCharacters), image: null }
}

/** Deletes expired sessions. Skips rows that another sign-in deletes, because the two could deadlock. */
const deleteExpiredSessions = (sql: SqlClient.SqlClient) => sql`
  delete from auth_sessions where id in (
    select id from auth_sessions where expires_at < clock_timestamp() limit ${limits.deletedSessions} for update skip locked
  )`

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
