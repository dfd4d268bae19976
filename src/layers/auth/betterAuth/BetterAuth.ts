import type { BetterAuthOptions } from "better-auth"
import { APIError, createAuthMiddleware } from "better-auth/api"
import { generateRandomString } from "better-auth/crypto"
import { betterAuth } from "better-auth/minimal"
import { Duration, Effect, Predicate, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { maxEmailCharacters } from "../../../domain/accounts/emailAddress.ts"
import { authPath, canAuthorizeApps, failurePath } from "../../../domain/accounts/OAuth.ts"
import { CurrentRequester } from "../../../domain/requests/CurrentRequester.ts"
import { partBefore } from "../../../domain/text.ts"
import { Emails } from "../../../services/accounts/Emails.ts"
import { maxSessions } from "../../../services/accounts/Sessions.ts"
import type { SecretValue } from "../../../services/operations/Keyrings.ts"
import { StoreClock } from "../../../services/StoreClock.ts"
import { type Attempts, makeAttempts } from "../Attempts.ts"
import { type Mail, makeMail } from "../emails/Mail.ts"
import { type KnownBrowsers, makeKnownBrowsers } from "../KnownBrowsers.ts"
import { makeNotePlace, type NotePlace } from "../NewPlaces.ts"
import { type Membership, makeMembership } from "../oauth/Membership.ts"
import { makeOAuth } from "../oauth/OAuth.ts"
import { rewriteAppRequest, rewriteAppResponse } from "../oauth/OAuthRequests.ts"
import * as OpenIdProvider from "../oidc/OpenIdProvider.ts"
import * as SingleSignOnHooks from "../oidc/SingleSignOnHooks.ts"
import { currentNotes, isWaiting, withRequester } from "../Requester.ts"
import { linkLifetime } from "../ResetToken.ts"
import * as SignUps from "../SignUps.ts"
import { type Bridge, makeBridge } from "./Database.ts"
import { digestOf, versionOf } from "./Digest.ts"
import { endTokens } from "./EndTokens.ts"
import type { LibraryOptions, ProviderClient } from "./Options.ts"
import * as PasswordHooks from "./PasswordHooks.ts"
import { makePasswordSlots, type PasswordSlots } from "./PasswordSlots.ts"
import { addIssues, emailIn, readRequest } from "./Requests.ts"
import { limitBody } from "./Responses.ts"
import * as SecondFactors from "./SecondFactors.ts"
import { makeStore, tables } from "./Tables.ts"

/** Importing the sign-in library takes half a second and 60 MB, so `Library.ts` loads this file on demand. */

const limits = {
  /** Lifetime of an unused session. A session in use is extended once a day. */
  session: Duration.days(7),
  request: Duration.seconds(30),
  nameCharacters: 100,
  logCharacters: 200,
  userAgentCharacters: 256,
  deletedSessions: 1000
}

/** Passes the client's address to the library. A header of this name from a client is overwritten. */
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
  readonly notePlace: NotePlace
  readonly membership: Membership
  readonly deliversEmails: boolean
  readonly openId: OpenIdProvider.OpenId | undefined
}

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
    addressed.headers.set(addressHeader, partBefore(client ?? "", "/"))
    const response = await withRequester({ address: client ?? "", browser }, () => auth.handler(addressed))
    return path.startsWith("/oauth2/")
      ? rewriteAppResponse(`${authPath}${path}`, await limitBody(path, response), options.baseUrl)
      : addIssues(path, await limitBody(path, response))
  }

  return (request: Request, client: string | undefined) =>
    bridge
      .serve(() => handle(request, client))
      .pipe(
        Effect.provideService(CurrentRequester, {
          address: client,
          browser: request.headers.get("user-agent") ?? undefined
        }),
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
  const sql = yield* SqlClient.SqlClient
  const bridge = yield* makeBridge
  const { oidc } = options
  const openId = oidc && { ...oidc, onConfirmed: SingleSignOnHooks.takeAddress(sql, oidc) }
  const makeToken = (characters: number) => generateRandomString(characters, "a-z", "A-Z", "0-9")
  const mail = yield* makeMail(options, attempts, makeToken)
  const deps: Deps = {
    options,
    sql,
    skewMs: (yield* StoreClock).skewMs,
    bridge,
    attempts,
    slots: yield* makePasswordSlots,
    signUps,
    browsers: yield* makeKnownBrowsers({ ...options, makeToken }),
    mail,
    notePlace: yield* makeNotePlace(mail),
    membership: yield* makeMembership({ confirmedOnly: delivers, signUps }),
    deliversEmails: delivers,
    openId: openId && (yield* OpenIdProvider.make(openId, bridge))
  }
  return deps
})

const configure = Effect.fnUntraced(function* (deps: Deps) {
  const { bridge, options } = deps
  const oauth = canAuthorizeApps(options.baseUrl) ? yield* makeOAuth(options, bridge, deps.attempts) : undefined
  return {
    ...siteOptions(options),
    ...storageOptions(deps),
    user: {
      ...tables.user,
      validateUserInfo: ({ source, user }) => SingleSignOnHooks.validatePerson(deps, user, source)
    },
    plugins: [...SecondFactors.plugins(options), oauth, deps.openId?.plugin].filter((plugin) => plugin !== undefined),
    emailAndPassword: passwordOptions(deps),
    emailVerification: confirmationOptions(deps),
    socialProviders: {
      ...(options.google && { google: providerOptions(options.google) }),
      ...(options.github && { github: providerOptions(options.github) })
    },
    logger: {
      log: (level, message) => {
        // The library takes a session that waits for a second factor for a failure.
        if (!isWaiting()) void bridge.run(logMessage(level, message))
      }
    },
    hooks: hooksOf(deps),
    databaseHooks: {
      user: { create: { before: async (user) => ({ data: { ...user, ...(await checkPerson(deps, user)) } }) } },
      session: { create: { before: (session, context) => prepareSession(deps, session, context) } }
    }
  } satisfies BetterAuthOptions
})

const hooksOf = (deps: Deps) => {
  const { bridge, browsers } = deps
  return {
    before: createAuthMiddleware(async (context) => {
      await SingleSignOnHooks.before(deps, context)
      await SignUps.before(deps, context)
      return (await SecondFactors.before(deps, context)) ?? PasswordHooks.before(deps, context)
    }),
    after: createAuthMiddleware(async (context) => {
      const answer = await SecondFactors.after(deps, context)
      if (answer !== undefined) context.context.returned = answer
      await PasswordHooks.after(deps, context)
      const { newSession } = context.context
      if (newSession === null) return answer
      await bridge.run(replaceSession(deps, sessionCookie(context), newSession.session))
      await bridge.run(deps.notePlace(newSession))
      const cookies = context.headers?.get("cookie") ?? null
      const value = await bridge.run(browsers.remember(cookies, newSession.user.id))
      context.setCookie(browsers.name, value, browsers.attributes)
      return undefined
    })
  }
}

const toVersion = (value: SecretValue) => ({ version: versionOf(value), value: Redacted.value(value.secret) })

const siteOptions = ({ baseUrl, secret, values }: LibraryOptions) =>
  ({
    appName: "Quarry",
    baseURL: baseUrl,
    basePath: authPath,
    secret: Redacted.value(secret),
    // Also numbered when there is only one: during a rotation, other processes read its number.
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

const storageOptions = ({ bridge, options, skewMs, sql }: Deps) =>
  ({
    database: makeStore({
      bridge,
      skewMs,
      digest: (model, token) => digestOf(options.secret, model, token),
      onSessionStart: (userId) => endOldestSession(sql, userId),
      onSessionsEnd: (userId) => endTokens(sql, userId)
    }),
    verification: tables.verification,
    account: {
      ...tables.account,
      // Encrypted in the cookie of the browser that started the sign-in. In the database, clients could make it any size.
      storeStateStrategy: "cookie",
      // Links a provider to a password account only once both have proven the address.
      accountLinking: { enabled: true, requireLocalEmailVerified: true }
    },
    session: {
      ...tables.session,
      expiresIn: Duration.toSeconds(limits.session),
      updateAge: Duration.toSeconds(Duration.days(1)),
      // A cached session would stay valid after it ended.
      cookieCache: { enabled: false }
    },
    rateLimit: {
      ...tables.rateLimit,
      enabled: true,
      storage: "database",
      // Known browsers are limited by their own wrong passwords instead of by address.
      customRules: {
        "/sign-in/email": (_, rule) => (currentNotes().requester.browser === undefined ? rule : false),
        // Many people of a hosted platform share its addresses. `TokenRequests.ts` counts what fails.
        "/oauth2/token": false,
        "/oauth2/revoke": false
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
    // The token came by email, so using it confirms the address.
    onPasswordReset: ({ user }) =>
      bridge.run(
        Effect.andThen(
          sql`update auth_users set email_verified = true where id = ${user.id}`,
          Effect.asVoid(PasswordHooks.forgive({ attempts }, currentNotes().requester, user.email))
        )
      ),
    resetPasswordTokenExpiresIn: Duration.toSeconds(linkLifetime),
    sendResetPassword: async (link) => mail.sendReset(currentNotes().requester, link),
    // The person may have lost the first email, or someone else may have signed up with the address.
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

/** Signs in by redirect only, because an ID token may come from another site. Rejects unverified addresses. */
const providerOptions = ({ clientId, clientSecret }: ProviderClient) => ({
  clientId,
  clientSecret: Redacted.value(clientSecret),
  disableIdTokenSignIn: true,
  requireEmailVerification: true
})

/** Truncates the message, which may quote the client, and drops the other arguments, which may hold the request. */
const logMessage = (level: string, message: string) => {
  const text = message.slice(0, limits.logCharacters).replaceAll(/\p{Cc}/gu, " ")
  const log = level === "debug" ? Effect.logDebug : Effect.logInfo
  return log(`Sign-in: ${text}`)
}

const signUpLinkOf = async (request: Request | undefined): Promise<string> => {
  const body: unknown = await request?.json().catch(() => undefined)
  const callbackURL = Predicate.hasProperty(body, "callbackURL") ? String(body.callbackURL) : ""
  return `/?${new URLSearchParams({ callbackURL })}`
}

const checkPerson = async (deps: Deps, { email, name }: { readonly email: string; readonly name: string }) => {
  if (email.length > maxEmailCharacters) {
    throw new APIError("BAD_REQUEST", { code: "EMAIL_TOO_LONG", message: "The email address is too long." })
  }
  await SignUps.beforePerson(deps, email)
  // Postgres does not allow NUL in text.
  return { name: name.replaceAll("\0", "").slice(0, limits.nameCharacters), image: null }
}

/** Skips rows locked by another sign-in, to avoid deadlocks. */
const deleteExpiredSessions = (sql: SqlClient.SqlClient) => sql`
  delete from auth_sessions where id in (
    select id from auth_sessions where expires_at < clock_timestamp() limit ${limits.deletedSessions} for update skip locked
  )`

/** Other sign-ins of the person wait for the lock; app tokens, which reference the person, do not. */
const endOldestSession = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.andThen(
    sql`select 1 from auth_users where id = ${userId} for no key update`,
    sql`
      delete from auth_sessions where id in (
        select id from auth_sessions where user_id = ${userId} and expires_at > clock_timestamp()
        order by created_at desc, id desc offset ${maxSessions - 1}
      )`
  )

const sessionCookie = ({ context, getCookie }: Pick<PasswordHooks.HookContext, "context" | "getCookie">) =>
  getCookie(context.authCookies.sessionToken.name)

const digestIn = ({ options }: Deps, cookie: string | null | undefined): string | undefined => {
  const [, token] = /^([0-9A-Za-z]{32})\./.exec(cookie ?? "") ?? []
  return token === undefined ? undefined : digestOf(options.secret, "session", token)
}

/** True if the cookie is of another session of the person. */
const isSignedIn = (deps: Deps, cookie: string | null | undefined, userId: string) =>
  Effect.map(
    deps.sql`
      select from auth_sessions
      where digest = ${digestIn(deps, cookie) ?? ""} and user_id = ${userId} and expires_at > clock_timestamp()`,
    (rows) => rows.length > 0
  )

/** Signing in again in the same browser continues in the same account. The session that it replaces ends. */
const replaceSession = Effect.fnUntraced(function* (
  deps: Deps,
  cookie: string | null | undefined,
  { id, userId }: { readonly id: string; readonly userId: string }
) {
  const { sql } = deps
  const digest = digestIn(deps, cookie)
  if (digest === undefined) return
  // Locks the person first, like every statement that ends sessions and tokens, to avoid deadlocks.
  yield* sql`
    with person as materialized (
      select id from auth_users where id = ${userId} for update
    ), old as (
      delete from auth_sessions o using person p where o.user_id = p.id and o.digest = ${digest} and o.id <> ${id}
      returning o.user_id, o.account_id
    )
    update auth_sessions s set account_id = m.account_id
    from old join members m on m.user_id = old.user_id and m.account_id = old.account_id where s.id = ${id}`
})

const prepareSession = async <
  Session extends {
    readonly userId: string
    readonly userAgent?: string | null | undefined
    readonly accountId?: unknown
  }
>(
  deps: Deps,
  session: Session,
  context: PasswordHooks.HookContext | null
) => {
  const { bridge, membership, sql } = deps
  const { userId } = session
  if (!(await SecondFactors.continues(userId, context))) {
    await SingleSignOnHooks.beforeSession(deps, userId, context)
    const isOpen = Effect.suspend(() => isSignedIn(deps, context && sessionCookie(context), userId))
    if (await SecondFactors.mustWait(deps, userId, context, isOpen)) return false
  }
  const accountId = await bridge.run(Effect.andThen(deleteExpiredSessions(sql), membership.join(session.userId)))
  const userAgent = session.userAgent?.slice(0, limits.userAgentCharacters) ?? null
  // A session that replaces another while factors change stays in its account.
  return { data: { ...session, userAgent, accountId: session.accountId ?? accountId ?? null } }
}
