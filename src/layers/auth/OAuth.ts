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
  refreshTokenPrefix,
  resourceOf,
  signInPath
} from "../../domain/OAuth.ts"
import type { Bridge } from "./Database.ts"
import { digestOf } from "./Digest.ts"
import { apps } from "./Store.ts"

const limits = {
  accessToken: Duration.hours(1),
  /** From its last use on. */
  refreshToken: Duration.days(30),
  /** For a person to sign in and decide, and again for the app to redeem its code. */
  code: Duration.minutes(10),
  /** A refresh token that is used again in this time is a retry of its app; later it is a theft. */
  retry: Duration.seconds(10),
  perMinute: { authorize: 60, token: 60, register: 10, revoke: 60 },
  /** For a new app to be allowed by anybody. */
  unusedApp: Duration.days(1),
  unusedApps: 10_000,
  /** Rows that one request deletes at most. */
  deletedRows: 1000
}

const perMinute = (max: number) => ({ window: 60, max })

export interface OAuthOptions {
  readonly baseUrl: string
  readonly secret: Redacted.Redacted
}

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly bridge: Bridge
  readonly secret: Redacted.Redacted
}

/** An endpoint's function. An endpoint is a function with its path and options as properties. */
type Handler = (context: { readonly body?: unknown }) => Promise<unknown>

/** The authorization server of the MCP endpoint: the library's plugin with some of its endpoints wrapped. */
export const makeOAuth = Effect.fnUntraced(function* ({ baseUrl, secret }: OAuthOptions, bridge: Bridge) {
  const deps: Deps = { sql: yield* SqlClient.SqlClient, bridge, secret }
  const library = mcp(pluginOptions(baseUrl, secret))
  const {
    oauth2Revoke,
    oauth2Token,
    registerOAuthClient
  }: Record<"oauth2Revoke" | "oauth2Token" | "registerOAuthClient", Endpoint> = library.endpoints
  const plugin = {
    ...library,
    schema: withOurColumns(library.schema),
    endpoints: {
      ...library.endpoints,
      oauth2Token: replaceHandler(
        oauth2Token,
        afterEffect(bridge, deleteExpiredTokens(deps.sql), inTransaction(deps, oauth2Token))
      ),
      oauth2Revoke: replaceHandler(oauth2Revoke, ignoringUnknownTokens(oauth2Revoke)),
      registerOAuthClient: replaceHandler(
        registerOAuthClient,
        afterEffect(bridge, deleteUnusedApps(deps.sql), allowingOwnSchemes(deps, registerOAuthClient))
      )
    }
  }
  // A plugin. Its type differs only where `exactOptionalPropertyTypes` meets fields of its documentation.
  return plugin as unknown as BetterAuthPlugin
})

const pluginOptions = (baseUrl: string, secret: Redacted.Redacted): Parameters<typeof mcp>[0] => {
  const { authorize, register, revoke, token } = limits.perMinute
  return {
    resource: resourceOf(baseUrl),
    loginPage: signInPath,
    consentPage: consentPath,
    schema: apps,
    scopes: [...appScopes],
    grantTypes: ["authorization_code", "refresh_token"],
    // A signed token would be valid until it expires, even after its person signed out everywhere.
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
    // There is one resource, and every app may request it.
    enforcePerClientResources: false,
    rateLimit: {
      authorize: perMinute(authorize),
      token: perMinute(token),
      register: perMinute(register),
      revoke: perMinute(revoke)
    }
  }
}

const deleteExpiredTokens = (sql: SqlClient.SqlClient) =>
  Effect.forEach(
    ["auth_access_tokens", "auth_refresh_tokens"],
    (table) => sql`
      delete from ${sql(table)} where id in (
        select id from ${sql(table)} where expires_at < clock_timestamp()
        limit ${limits.deletedRows} for update skip locked
      )`
  )

/**
 * Deletes the apps that nobody has allowed in a day, and the oldest of them sooner when there are many: anybody may
 * register apps.
 */
const deleteUnusedApps = (sql: SqlClient.SqlClient) => sql`
  delete from auth_apps where client_id in (
    select client_id from auth_apps a
    where not exists (select 1 from auth_consents c where c.client_id = a.client_id)
      and created_at < greatest(
        clock_timestamp() - ${Duration.toMillis(limits.unusedApp)} * interval '1 millisecond',
        (select created_at from auth_apps b
          where not exists (select 1 from auth_consents c where c.client_id = b.client_id)
          order by created_at desc offset ${limits.unusedApps - 1} limit 1))
    limit ${limits.deletedRows} for update skip locked
  )`

/** Locks the person of a refresh token first, as `endTokens` does: in another order the two would deadlock. */
const lockPerson = ({ secret, sql }: Deps, refreshToken: string) => sql`
  select 1 from auth_users where id = (
    select user_id from auth_refresh_tokens where digest = ${digestOf(secret, "refresh_token", refreshToken)}
  ) for key share`

/** The token endpoint in one transaction. */
const inTransaction =
  (deps: Deps, endpoint: Endpoint): Handler =>
  (context) => {
    const token = Predicate.hasProperty(context.body, "refresh_token") ? context.body.refresh_token : undefined
    const lock = typeof token === "string" ? lockPerson(deps, token.replace(refreshTokenPrefix, "")) : Effect.void
    return commitErrors(deps.bridge, () => deps.bridge.run<unknown, unknown>(lock).then(() => endpoint(context))).catch(
      rethrowAsInvalidGrant
    )
  }

/** The endpoint's result when its caller wants headers and status too, as the library's router does. */
interface RegistrationResult {
  readonly response: { readonly client_id: string }
}

/** Registered for an app that has no other redirect, until its own ones are stored. */
const placeholderRedirect = "http://127.0.0.1/"

/**
 * Registration with redirects to a scheme of an app's own with a host (`cursor://host/path`), which common apps have and
 * the library rejects. Registers the app without them and adds them in the same transaction.
 */
const allowingOwnSchemes =
  ({ bridge, sql }: Deps, endpoint: Endpoint): Handler =>
  (context) => {
    // `OAuthRequests.ts` has written this body.
    const metadata = context.body as { readonly redirect_uris: ReadonlyArray<string> }
    const { redirect_uris } = metadata
    const others = redirect_uris.filter((uri) => !isPrivateUseScheme(uri))
    if (others.length === redirect_uris.length) return endpoint(context)
    const body = { ...metadata, redirect_uris: others.length === 0 ? [placeholderRedirect] : others }
    return commitErrors(bridge, async () => {
      const result: RegistrationResult = await endpoint({ ...context, body })
      const { client_id } = result.response
      await bridge.run(sql`
        update auth_apps set redirect_uris = ${JSON.stringify(redirect_uris)} where client_id = ${client_id}`)
      return { ...result, response: { ...result.response, redirect_uris } }
    })
  }

/** Runs an effect before a handler and outside its transaction, so that the effect's locks do not outlast it. */
const afterEffect =
  (bridge: Bridge, effect: Effect.Effect<unknown, unknown>, handler: Handler): Handler =>
  (context) =>
    bridge.run(effect).then(() => handler(context))

/** An endpoint with another function and its own path and options. */
const replaceHandler = (endpoint: Endpoint, handler: Handler): Endpoint =>
  Object.assign((context: Parameters<Handler>[0]) => handler(context), endpoint) as Endpoint

/** The library's tables with the columns that our tables have: the library does not use columns outside its schema. */
const withOurColumns = <Schema extends object>(schema: Schema): Schema => {
  const tables = Object.entries(apps).map(([name, { fields }]) => {
    const table = (schema as Record<string, { fields: object }>)[name]
    const columns = Object.entries(table?.fields ?? {}).filter(([field]) => field in fields)
    return [name, { ...table, fields: Object.fromEntries(columns) }]
  })
  // The omitted fields are optional, or have defaults that the library assumes when they are absent.
  return Object.fromEntries(tables) as Schema
}

/**
 * Runs a handler in one transaction, which commits when the handler throws an error for the client: the library deletes
 * the tokens of a stolen code before it throws. Without the transaction a token that is issued while its person signs out
 * everywhere would stay valid.
 */
const commitErrors = async (bridge: Bridge, body: () => Promise<unknown>): Promise<unknown> => {
  const outcome = await bridge.transaction(async () => {
    try {
      return { value: await body() }
    } catch (error) {
      if (isAPIError(error)) return { error }
      throw error
    }
  })
  if ("error" in outcome) throw outcome.error
  return outcome.value
}

/** An unknown refresh token is an invalid grant, like an expired one (RFC 6749 section 5.2). */
const rethrowAsInvalidGrant = (error: unknown): never => {
  if (isAPIError(error) && error.body?.error === "invalid_token") {
    throw new APIError("BAD_REQUEST", { error: "invalid_grant", error_description: "invalid refresh token" })
  }
  throw error
}

/** Revocation that succeeds for an unknown token, as for a revoked one (RFC 7009 section 2.2). */
const ignoringUnknownTokens =
  (endpoint: Endpoint): Handler =>
  async (context) => {
    try {
      return await endpoint(context)
    } catch (error) {
      const hasToken = Predicate.hasProperty(context.body, "token") && context.body.token !== ""
      const isUnknown = isAPIError(error) && error.statusCode === 400 && error.body?.error !== "invalid_client"
      if (hasToken && isUnknown) return { response: null }
      throw error
    }
  }
