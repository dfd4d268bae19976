import { createHash } from "node:crypto"
import { mcp } from "@better-auth/mcp"
import type { BetterAuthPlugin } from "better-auth"
import { APIError, isAPIError } from "better-auth/api"
import type { Endpoint } from "better-call"
import { Duration, Effect, Predicate, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { documentUrl } from "../../../domain/accounts/ClientMetadata.ts"
import {
  accessTokenPrefix,
  appScopes,
  consentPath,
  failurePath,
  isPrivateUseScheme,
  refreshTokenPrefix,
  resourceOf,
  signInPath
} from "../../../domain/accounts/OAuth.ts"
import { ClientDocuments } from "../../../services/accounts/ClientDocuments.ts"
import type { Bridge } from "../betterAuth/Database.ts"
import { digestOf } from "../betterAuth/Digest.ts"
import { apps } from "../betterAuth/Tables.ts"

const limits = {
  accessToken: Duration.hours(1),
  /** Since the token's last use. */
  refreshToken: Duration.days(30),
  /** For the person to sign in and decide, and again for the app to redeem its code. */
  code: Duration.minutes(10),
  /** A refresh token reused within this time is a retry by its app. After that it is treated as stolen. */
  retry: Duration.seconds(10),
  perMinute: { authorize: 60, token: 60, register: 10, revoke: 60 },
  unusedApp: Duration.days(1),
  unusedApps: 10_000,
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
  readonly documents: ClientDocuments["Service"]
}

type Handler = (context: { readonly body?: unknown; readonly query?: unknown }) => Promise<unknown>

type ReplacedEndpoint = "oauth2Authorize" | "oauth2Revoke" | "oauth2Token" | "registerOAuthClient"

export const makeOAuth = Effect.fnUntraced(function* ({ baseUrl, secret }: OAuthOptions, bridge: Bridge) {
  const deps: Deps = { sql: yield* SqlClient.SqlClient, bridge, secret, documents: yield* ClientDocuments }
  const library = mcp(pluginOptions(baseUrl, secret))
  const { oauth2Authorize, oauth2Revoke, oauth2Token, registerOAuthClient }: Record<ReplacedEndpoint, Endpoint> =
    library.endpoints
  const plugin = {
    ...library,
    schema: withOurColumns(library.schema),
    endpoints: {
      ...library.endpoints,
      oauth2Authorize: replaceHandler(oauth2Authorize, knowingDocuments(deps, oauth2Authorize)),
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
  // The cast is safe: the types differ only in documentation fields, because of `exactOptionalPropertyTypes`.
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
    // A signed token would stay valid until it expires, even after its person signed out everywhere.
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
    // There is only one resource, and every app may request it.
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

/** Anyone can register apps. With many of them, unused apps are deleted sooner. */
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

const documentFailure = () =>
  new APIError("FOUND", undefined, { location: `${failurePath}?${new URLSearchParams({ error: "invalid_document" })}` })

/** The client ID is an address, which does not fit into a path. */
const idOfDocument = (clientId: string): string => createHash("sha256").update(clientId).digest("base64url")

/** Fetches a stale document again: if it is gone or changed its redirects, the old ones must stop working. */
const storeDocument = Effect.fn("OAuth.storeDocument")(function* ({ documents, sql }: Deps, clientId: string) {
  const known = yield* sql`
    select 1 from auth_apps where client_id = ${clientId} and document_expires_at > clock_timestamp()`
  if (known.length > 0) return
  const { freshFor, name, redirectUris } = yield* documents.fetch(clientId)
  yield* deleteUnusedApps(sql)
  const expiry = sql`clock_timestamp() + ${Duration.toMillis(freshFor)} * interval '1 millisecond'`
  // Counts as new, so that it is not removed as unused while its person decides.
  yield* sql`
    insert into auth_apps as a (
      id, client_id, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method,
      application_type, created_at, updated_at, document_expires_at
    ) values (
      ${idOfDocument(clientId)}, ${clientId}, ${name ?? null}, ${JSON.stringify(redirectUris)}, ${JSON.stringify(appScopes)},
      '["authorization_code","refresh_token"]', '["code"]', 'none', 'native', clock_timestamp(), clock_timestamp(), ${expiry}
    )
    on conflict (client_id) do update set
      name = excluded.name, redirect_uris = excluded.redirect_uris, created_at = excluded.created_at,
      updated_at = excluded.updated_at, document_expires_at = excluded.document_expires_at`
})

/** Lets apps name a metadata document instead of registering. Runs after the endpoint's rate limit. */
const knowingDocuments =
  (deps: Deps, endpoint: Endpoint): Handler =>
  async (context) => {
    const clientId = Predicate.hasProperty(context.query, "client_id") ? context.query.client_id : undefined
    if (typeof clientId !== "string" || documentUrl(clientId) === undefined) return endpoint(context)
    const isKnown = await deps.bridge.run(
      storeDocument(deps, clientId).pipe(
        Effect.as(true),
        Effect.catchTag("ClientDocumentUnusable", ({ reason }) =>
          Effect.as(
            Effect.logInfo("An app's metadata document cannot be used").pipe(
              Effect.annotateLogs({ host: documentUrl(clientId)?.host, reason })
            ),
            false
          )
        )
      )
    )
    if (!isKnown) throw documentFailure()
    return endpoint(context)
  }

/** Locks the person of a refresh token first, like `endTokens`, to avoid deadlocks. */
const lockPerson = ({ secret, sql }: Deps, refreshToken: string) => sql`
  select 1 from auth_users where id = (
    select user_id from auth_refresh_tokens where digest = ${digestOf(secret, "refresh_token", refreshToken)}
  ) for key share`

const inTransaction =
  (deps: Deps, endpoint: Endpoint): Handler =>
  (context) => {
    const token = Predicate.hasProperty(context.body, "refresh_token") ? context.body.refresh_token : undefined
    const lock = typeof token === "string" ? lockPerson(deps, token.replace(refreshTokenPrefix, "")) : Effect.void
    return commitErrors(deps.bridge, () => deps.bridge.run<unknown, unknown>(lock).then(() => endpoint(context))).catch(
      rethrowAsInvalidGrant
    )
  }

/** Only the part that is read here. For the library's router, the result also has headers and a status. */
interface RegistrationResult {
  readonly response: { readonly client_id: string }
}

/** Placeholder for an app without any other redirect, until its own redirects are stored. */
const placeholderRedirect = "http://127.0.0.1/"

/** The library rejects redirects to an app's own scheme (`cursor://…`). The same transaction adds them afterwards. */
const allowingOwnSchemes =
  ({ bridge, sql }: Deps, endpoint: Endpoint): Handler =>
  (context) => {
    // The type is that of the body written by `OAuthRequests.ts`.
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

/** Runs the effect outside the handler's transaction, so that its locks are released first. */
const afterEffect =
  (bridge: Bridge, effect: Effect.Effect<unknown, unknown>, handler: Handler): Handler =>
  (context) =>
    bridge.run(effect).then(() => handler(context))

const replaceHandler = (endpoint: Endpoint, handler: Handler): Endpoint =>
  Object.assign((context: Parameters<Handler>[0]) => handler(context), endpoint) as Endpoint

/** Reduces the library's tables to our columns, because it uses every column in its schema. */
const withOurColumns = <Schema extends object>(schema: Schema): Schema => {
  const tables = Object.entries(apps).map(([name, { fields }]) => {
    const table = (schema as Record<string, { fields: object }>)[name]
    const columns = Object.entries(table?.fields ?? {}).filter(([field]) => field in fields)
    return [name, { ...table, fields: Object.fromEntries(columns) }]
  })
  // The omitted fields are optional, or have defaults that the library assumes.
  return Object.fromEntries(tables) as Schema
}

/**
 * Also commits on client errors: the library deletes the tokens of a stolen code before it throws. Without the
 * transaction, a token issued while its person signs out everywhere would stay valid.
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

/** Treats an unknown refresh token as an invalid grant, like an expired one (RFC 6749 section 5.2). */
const rethrowAsInvalidGrant = (error: unknown): never => {
  if (isAPIError(error) && error.body?.error === "invalid_token") {
    throw new APIError("BAD_REQUEST", { error: "invalid_grant", error_description: "invalid refresh token" })
  }
  throw error
}

/** Lets the revocation of an unknown token succeed (RFC 7009 section 2.2). */
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
