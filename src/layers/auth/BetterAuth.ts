import { AsyncLocalStorage } from "node:async_hooks"
import type { BetterAuthOptions } from "better-auth"
import { APIError, createAuthMiddleware } from "better-auth/api"
import { hashPassword } from "better-auth/crypto"
import { betterAuth } from "better-auth/minimal"
import { Duration, Effect, Predicate, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { authPath, failurePath, letsAppsIn } from "../../domain/OAuth.ts"
import { maxEmailCharacters } from "../../domain/Plan.ts"
import { Emails } from "../../services/Emails.ts"
import { type Bridge, makeBridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { makeMembership } from "./Membership.ts"
import { endTokens, makeOAuth } from "./OAuth.ts"
import { admitted } from "./OAuthRequests.ts"
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
  /** Of the links in emails. */
  link: Duration.hours(1),
  /** For an answer, with the calls to an identity provider in it. */
  answer: Duration.seconds(30),
  passwordCharacters: 128,
  nameCharacters: 100,
  /** Of a message of the library in the log. */
  logCharacters: 200,
  userAgentCharacters: 256
}

/** Carries the client's address to the library; what a client sends under this name is replaced. */
const clientHeader = "x-quarry-client"

/**
 * Hashes made ahead, by password, for as long as one request. The library hashes a new person's password inside the
 * transaction that makes them, and a tenth of a second of work would keep a connection, the embedded database's only
 * one, from everybody else.
 */
const hashedAhead = new AsyncLocalStorage<Map<string, string>>()

/** Where links in emails lead when the page that asked for them named no page. */
const landing = "/dashboard"

const destination = (link: URL): string => {
  const named = link.searchParams.get("callbackURL") ?? ""
  return named === "" || named === "/" ? landing : named
}

const confirmationLink = (text: string): string => {
  const link = new URL(text)
  link.searchParams.set("callbackURL", destination(link))
  return link.href
}

/**
 * Straight to the page that asks for the new password: the library's own link has the token in its path, and logs have
 * paths.
 */
const resetLink = (text: string, token: string): string => {
  const link = new URL(text)
  const page = new URL(destination(link), link)
  page.searchParams.set("token", token)
  return page.href
}

/** The library, set up: answers a request of a client at an address. */
export const make = Effect.fnUntraced(function* (options: SessionsOptions) {
  const bridge = yield* makeBridge
  const auth = betterAuth(yield* configure(options, bridge))

  return Effect.fnUntraced(function* (request: Request, client: string | undefined) {
    const asked = yield* Effect.promise(() => admitted(request, options.baseUrl))
    if (asked instanceof Response) return asked
    const counted = new Request(asked)
    counted.headers.set(clientHeader, (client ?? "").split("/", 1).join(""))
    return yield* bridge
      .serve(() => hashedAhead.run(new Map(), () => auth.handler(counted)))
      .pipe(
        Effect.timeoutOrElse({
          duration: limits.answer,
          orElse: () => Effect.die(new Error(`sign-in took more than ${Duration.format(limits.answer)}`))
        })
      )
  })
})

const configure = Effect.fnUntraced(function* (options: SessionsOptions, bridge: Bridge) {
  const sql = yield* SqlClient.SqlClient
  const emails = yield* Emails
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Effect.scope
  const { join } = yield* makeMembership({ verifiedOnly: emails.delivers })
  const oauth = letsAppsIn(options.baseUrl) ? yield* makeOAuth(options, bridge) : undefined

  /** In the background: how long a mail server takes must not tell who has an account. */
  const send = async (to: string, subject: string, lines: ReadonlyArray<string>) => {
    runFork(Effect.forkIn(emails.send({ to, subject, text: lines.join("\n\n") }), scope))
  }

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
      onPasswordReset: ({ user }) => bridge.run(Effect.asVoid(confirm(user.id))),
      resetPasswordTokenExpiresIn: Duration.toSeconds(limits.link),
      sendResetPassword: ({ token, url, user }) =>
        send(user.email, "Choose a new password for Quarry", [
          "Somebody, probably you, asked to choose a new password. This link does it, once and within an hour:",
          resetLink(url, token),
          "If it was not you, do nothing: the password stays as it is."
        ])
    },
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      autoSignInAfterVerification: false,
      expiresIn: Duration.toSeconds(limits.link),
      sendVerificationEmail: ({ url, user }) =>
        send(user.email, "Confirm your address for Quarry", [
          "Somebody signed up to Quarry with this address. If it was you, confirm it within an hour:",
          confirmationLink(url),
          "If it was not you, do not open the link: it would let them in as you."
        ]),
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
    hooks: { before: createAuthMiddleware(before) },
    databaseHooks: {
      user: {
        create: {
          before: async (user) => {
            if (user.email.length > maxEmailCharacters) {
              throw new APIError("BAD_REQUEST", { message: "The email address is too long." })
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

/** What happens before the library looks at a request. */
const before = async ({ body, path }: { readonly body?: unknown; readonly path?: string }) => {
  if (!Predicate.isObject(body)) return undefined
  // Whoever changes a password may do it because somebody else knows the old one.
  if (path === "/change-password") return { context: { body: { ...body, revokeOtherSessions: true } } }
  const password = Predicate.hasProperty(body, "password") ? body.password : undefined
  if (path === "/sign-up/email" && Predicate.isString(password) && password.length <= limits.passwordCharacters) {
    hashedAhead.getStore()?.set(password, await hashPassword(password))
  }
  return undefined
}
