import { mcp } from "@better-auth/mcp"
import type { BetterAuthPlugin } from "better-auth"
import { APIError, isAPIError } from "better-auth/api"
import type { Endpoint } from "better-call"
import { Duration, Effect, Predicate, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import {
  accessTokenPrefix,
  appScopes,
  consentPath,
  isPrivateUseScheme,
  resourceOf,
  signInPath
} from "../../domain/OAuth.ts"
import type { Bridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { apps } from "./Store.ts"

const limits = {
  accessToken: Duration.hours(1),
  /** From the last time it was used. */
  refreshToken: Duration.days(30),
  /** For a person to sign in and decide, and then for the app to fetch its tokens. */
  code: Duration.minutes(10),
  /** For another use of a refresh token to be taken for a second try of the same app, and not for theft. */
  retry: Duration.seconds(10),
  perMinute: { authorize: 60, token: 60, register: 10, revoke: 60 },
  /** For a new app to be let in by anybody. */
  unusedApp: Duration.days(1),
  unusedApps: 10_000,
  /** Rows that one request clears away at most. */
  cleared: 1000
}

const refreshTokenPrefix = "quarry_rt_"

const window = (max: number) => ({ window: 60, max })

export interface OAuthOptions {
  readonly baseUrl: string
  readonly secret: Redacted.Redacted
}

/** The authorization server of the MCP endpoint. */
export const makeOAuth = Effect.fnUntraced(function* ({ baseUrl, secret }: OAuthOptions, bridge: Bridge) {
  const sql = yield* SqlClient.SqlClient
  const { authorize, register, revoke, token } = limits.perMinute

  const library = mcp({
    resource: resourceOf(baseUrl),
    loginPage: signInPath,
    consentPage: consentPath,
    schema: apps,
    scopes: [...appScopes],
    grantTypes: ["authorization_code", "refresh_token"],
    // A signed token would be good until it expires, whatever became of its person.
    disableJwtPlugin: true,
    storeTokens: { hash: async (text, type) => digestOf(secret, type, text) },
    prefix: { opaqueAccessToken: accessTokenPrefix, refreshToken: refreshTokenPrefix },
    accessTokenExpiresIn: Duration.toSeconds(limits.accessToken),
    refreshTokenExpiresIn: Duration.toSeconds(limits.refreshToken),
    refreshTokenReuseInterval: Duration.toSeconds(limits.retry),
    codeExpiresIn: Duration.toSeconds(limits.code),
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    allowPublicClientPrelogin: true,
    // There is one resource, and whoever may ask for any may ask for it.
    enforcePerClientResources: false,
    rateLimit: {
      authorize: window(authorize),
      token: window(token),
      register: window(register),
      revoke: window(revoke)
    }
  })

  /** The person first, as whoever ends everything of theirs: two that wait for each other would both be lost. */
  const lockPerson = (refreshToken: string) => sql`
    select 1 from auth_users where id = (
      select user_id from auth_refresh_tokens where digest = ${digestOf(secret, "refresh_token", refreshToken)}
    ) for key share`

  const clearTokens = Effect.forEach(
    ["auth_access_tokens", "auth_refresh_tokens"],
    (table) => sql`
      delete from ${sql(table)} where id in (
        select id from ${sql(table)} where expires_at < clock_timestamp() limit ${limits.cleared} for update skip locked
      )`
  )

  /** Anybody may register apps: those that nobody let in go after a day, and the oldest sooner when there are many. */
  const clearApps = sql`
    delete from auth_apps where client_id in (
      select client_id from auth_apps a
      where not exists (select 1 from auth_consents c where c.client_id = a.client_id)
        and created_at < greatest(
          clock_timestamp() - ${Duration.toMillis(limits.unusedApp)} * interval '1 millisecond',
          (select created_at from auth_apps b
            where not exists (select 1 from auth_consents c where c.client_id = b.client_id)
            order by created_at desc offset ${limits.unusedApps - 1} limit 1))
      limit ${limits.cleared} for update skip locked
    )`

  const inTransaction =
    (endpoint: Endpoint): Run =>
    (context) => {
      const token = Predicate.hasProperty(context.body, "refresh_token") ? context.body.refresh_token : undefined
      const prepare = typeof token === "string" ? lockPerson(token.replace(refreshTokenPrefix, "")) : Effect.void
      return settled(bridge, () => bridge.run<unknown, unknown>(prepare).then(() => endpoint(context))).catch(
        asInvalidGrant
      )
    }

  /**
   * The library refuses redirects to a scheme of an app's own with a name behind it, which common apps have. It
   * registers such an app without them, and they are added before anybody can see it.
   */
  const withOwnSchemes =
    (endpoint: Endpoint): Run =>
    (context) => {
      // As `OAuthRequests.ts` has made it.
      const metadata = context.body as { readonly redirect_uris: ReadonlyArray<string> }
      const sent = metadata.redirect_uris
      const others = sent.filter((uri) => !isPrivateUseScheme(uri))
      if (others.length === sent.length) return endpoint(context)
      const body = { ...metadata, redirect_uris: others.length === 0 ? [standIn] : others }
      return settled(bridge, async () => {
        const answer: Registered = await endpoint({ ...context, body })
        const { client_id } = answer.response
        await bridge.run(sql`
          update auth_apps set redirect_uris = ${JSON.stringify(sent)} where client_id = ${client_id}`)
        return { ...answer, response: { ...answer.response, redirect_uris: sent } }
      })
    }

  /** On its own, so that no row stays locked for longer. */
  const after =
    (clear: Effect.Effect<unknown, unknown>, run: Run): Run =>
    (context) =>
      bridge.run(clear).then(() => run(context))

  const {
    oauth2Revoke,
    oauth2Token,
    registerOAuthClient
  }: Record<"oauth2Revoke" | "oauth2Token" | "registerOAuthClient", Endpoint> = library.endpoints
  const plugin = {
    ...library,
    schema: keptOf(library.schema),
    endpoints: {
      ...library.endpoints,
      oauth2Token: around(oauth2Token, after(clearTokens, inTransaction(oauth2Token))),
      oauth2Revoke: around(oauth2Revoke, forgiving(oauth2Revoke)),
      registerOAuthClient: around(registerOAuthClient, after(clearApps, withOwnSchemes(registerOAuthClient)))
    }
  }
  // A plugin, but for types that tell an absent field of its documentation from an undefined one.
  return plugin as unknown as BetterAuthPlugin
})

/** Of an app with no other redirect, for as long as its registration takes. */
const standIn = "http://127.0.0.1/"

/** What the library answers who asks for headers and status too, as it does itself. */
interface Registered {
  readonly response: { readonly client_id: string }
}

type Run = (context: { readonly body?: unknown }) => Promise<unknown>

/** Another function in the place of an endpoint, which is a function with its path and options on it. */
const around = (endpoint: Endpoint, run: Run): Endpoint =>
  Object.assign((context: Parameters<Run>[0]) => run(context), endpoint) as Endpoint

/** The library's tables without the columns that we do not have: it leaves alone what its schema does not name. */
const keptOf = <Schema extends object>(schema: Schema): Schema => {
  const kept = Object.entries(apps).map(([name, { fields }]) => {
    const table = (schema as Record<string, { fields: object }>)[name]
    const columns = Object.entries(table?.fields ?? {}).filter(([field]) => field in fields)
    return [name, { ...table, fields: Object.fromEntries(columns) }]
  })
  // The fields that are gone are optional, or have defaults that the library reads absence as.
  return Object.fromEntries(kept) as Schema
}

/**
 * Runs in one transaction, and commits a refusal too: what it undid of a stolen code or token must stay undone. Without
 * the transaction a token that is issued while a person signs out everywhere would outlive that.
 */
const settled = async (bridge: Bridge, body: () => Promise<unknown>): Promise<unknown> => {
  const outcome = await bridge.transaction(async () => {
    try {
      return { value: await body() }
    } catch (error) {
      if (isAPIError(error)) return { refusal: error }
      throw error
    }
  })
  if ("refusal" in outcome) throw outcome.refusal
  return outcome.value
}

/** A refresh token that nothing here has made is an invalid grant, like one that is over (RFC 6749 section 5.2). */
const asInvalidGrant = (error: unknown): never => {
  if (isAPIError(error) && error.body?.error === "invalid_token") {
    throw new APIError("BAD_REQUEST", { error: "invalid_grant", error_description: "invalid refresh token" })
  }
  throw error
}

/** Revocation to which a token that is not there is one that was ended, as RFC 7009 section 2.2 has it. */
const forgiving =
  (endpoint: Endpoint): Run =>
  async (context) => {
    try {
      return await endpoint(context)
    } catch (error) {
      const named = Predicate.hasProperty(context.body, "token") && context.body.token !== ""
      const unknown = isAPIError(error) && error.statusCode === 400 && error.body?.error !== "invalid_client"
      if (named && unknown) return { response: null }
      throw error
    }
  }

/** Ends every token of a person, those on their way to an app too. In the caller's transaction. */
export const endTokens = (sql: SqlClient.SqlClient, userId: string) =>
  Effect.gen(function* () {
    yield* sql`select 1 from auth_users where id = ${userId} for update`
    yield* sql`delete from auth_access_tokens where user_id = ${userId}`
    yield* sql`delete from auth_refresh_tokens where user_id = ${userId}`
  })
