import { createHash } from "node:crypto"
import { mcp } from "@better-auth/mcp"
import type { BetterAuthPlugin } from "better-auth"
import { APIError } from "better-auth/api"
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
import type { Attempts } from "../Attempts.ts"
import { type Bridge, commitErrors } from "../betterAuth/Database.ts"
import { digestOf } from "../betterAuth/Digest.ts"
import { apps } from "../betterAuth/Tables.ts"
import { currentNotes, type Requester } from "../Requester.ts"
import { decidedOnce, undecided } from "./Decisions.ts"
import type { Handler } from "./Handler.ts"
import { makeRefreshTokens } from "./RefreshTokens.ts"
import { makeRegistrations } from "./Registrations.ts"
import { makeRevocationHandler, makeTokenHandler, type TokenDeps } from "./TokenRequests.ts"

const limits = {
  accessToken: Duration.hours(1),
  /** Since the token's last use. */
  refreshToken: Duration.days(30),
  /** For the person to sign in and decide, and again for the app to redeem its code. */
  code: Duration.minutes(10),
  authorizationsPerMinute: 60
}

const perMinute = (max: number) => ({ window: 60, max })

export interface OAuthOptions {
  readonly baseUrl: string
  readonly secret: Redacted.Redacted
  /** Of one client address. */
  readonly registrationsPerMinute: number
}

interface Deps extends TokenDeps {
  readonly documents: ClientDocuments["Service"]
}

type ReplacedEndpoint =
  | "getOAuthClientPublicPrelogin"
  | "oauth2Authorize"
  | "oauth2Consent"
  | "oauth2Revoke"
  | "oauth2Token"
  | "registerOAuthClient"

export const makeOAuth = Effect.fnUntraced(function* (options: OAuthOptions, bridge: Bridge, attempts: Attempts) {
  const registrations = yield* makeRegistrations
  const deps: Deps = {
    sql: yield* SqlClient.SqlClient,
    bridge,
    attempts,
    registrations,
    refreshTokens: yield* makeRefreshTokens(options.secret),
    documents: yield* ClientDocuments
  }
  const library = mcp(pluginOptions(options))
  const endpoints: Record<ReplacedEndpoint, Endpoint> = library.endpoints
  const { getOAuthClientPublicPrelogin, oauth2Authorize, oauth2Consent, oauth2Revoke, oauth2Token } = endpoints
  const { registerOAuthClient } = endpoints
  const plugin = {
    ...library,
    schema: withOurColumns(library.schema),
    endpoints: {
      ...library.endpoints,
      getOAuthClientPublicPrelogin: replaceHandler(
        getOAuthClientPublicPrelogin,
        undecided(deps, getOAuthClientPublicPrelogin)
      ),
      oauth2Authorize: replaceHandler(oauth2Authorize, knowingApps(deps, oauth2Authorize)),
      oauth2Consent: replaceHandler(oauth2Consent, decidedOnce(deps, oauth2Consent)),
      oauth2Token: replaceHandler(oauth2Token, makeTokenHandler(deps, oauth2Token)),
      oauth2Revoke: replaceHandler(oauth2Revoke, makeRevocationHandler(deps, oauth2Revoke)),
      registerOAuthClient: replaceHandler(
        registerOAuthClient,
        afterEffect(bridge, registrations.deleteUnused, allowingOwnSchemes(deps, registerOAuthClient))
      )
    }
  }
  // The cast is safe: the types differ only in documentation fields, because of `exactOptionalPropertyTypes`.
  return plugin as unknown as BetterAuthPlugin
})

const pluginOptions = ({ baseUrl, registrationsPerMinute, secret }: OAuthOptions): Parameters<typeof mcp>[0] => {
  return {
    resource: resourceOf(baseUrl),
    loginPage: signInPath,
    consentPage: consentPath,
    // A consent and its tokens belong to the account that the session used when the person allowed the app.
    postLogin: {
      page: consentPath,
      shouldRedirect: () => false,
      consentReferenceId: ({ session: { accountId } }) => (typeof accountId === "string" ? accountId : undefined)
    },
    schema: apps,
    scopes: [...appScopes],
    grantTypes: ["authorization_code", "refresh_token"],
    // A signed token would stay valid until it expires, even after its person signed out everywhere.
    disableJwtPlugin: true,
    storeTokens: { hash: async (text, type) => digestOf(secret, type, text) },
    prefix: { opaqueAccessToken: accessTokenPrefix, refreshToken: refreshTokenPrefix },
    accessTokenExpiresIn: Duration.toSeconds(limits.accessToken),
    refreshTokenExpiresIn: Duration.toSeconds(limits.refreshToken),
    codeExpiresIn: Duration.toSeconds(limits.code),
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    allowPublicClientPrelogin: true,
    // There is only one resource, and every app may request it.
    enforcePerClientResources: false,
    rateLimit: {
      authorize: perMinute(limits.authorizationsPerMinute),
      register: perMinute(registrationsPerMinute)
    }
  }
}

const documentFailure = () =>
  new APIError("FOUND", undefined, { location: `${failurePath}?${new URLSearchParams({ error: "invalid_document" })}` })

/** The client ID is an address, which does not fit into a path. */
const idOfDocument = (clientId: string): string => createHash("sha256").update(clientId).digest("base64url")

/** Fetches a stale document again: if it is gone or changed its redirects, the old ones must stop working. */
const storeDocument = Effect.fn("OAuth.storeDocument")(function* (
  { documents, registrations, sql }: Deps,
  clientId: string,
  requester: Requester
) {
  const known = yield* sql`
    select 1 from auth_apps where client_id = ${clientId} and document_expires_at > clock_timestamp()`
  if (known.length > 0) return
  const { freshFor, name, redirectUris } = yield* documents.fetch(clientId, requester.address)
  yield* registrations.deleteUnused
  const expiry = sql`clock_timestamp() + ${Duration.toMillis(freshFor)} * interval '1 millisecond'`
  yield* sql`
    insert into auth_apps as a (
      id, client_id, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method,
      application_type, created_at, updated_at, document_expires_at
    ) values (
      ${idOfDocument(clientId)}, ${clientId}, ${name ?? null}, ${JSON.stringify(redirectUris)}, ${JSON.stringify(appScopes)},
      '["authorization_code","refresh_token"]', '["code"]', 'none', 'native', clock_timestamp(), clock_timestamp(), ${expiry}
    )
    on conflict (client_id) do update set
      name = excluded.name, redirect_uris = excluded.redirect_uris, updated_at = excluded.updated_at,
      document_expires_at = excluded.document_expires_at`
})

/** Lets apps name a metadata document instead of registering. Runs after the endpoint's rate limit. */
const knowingApps =
  (deps: Deps, endpoint: Endpoint): Handler =>
  async (context) => {
    const clientId = Predicate.hasProperty(context.query, "client_id") ? context.query.client_id : undefined
    if (typeof clientId !== "string") return endpoint(context)
    if (
      documentUrl(clientId) !== undefined &&
      !(await deps.bridge.run(readDocument(deps, clientId, currentNotes().requester)))
    ) {
      throw documentFailure()
    }
    await deps.bridge.run(deps.registrations.use(clientId))
    return endpoint(context)
  }

const readDocument = (deps: Deps, clientId: string, requester: Requester) =>
  storeDocument(deps, clientId, requester).pipe(
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
  Object.assign((context: Parameters<Handler>[0]) => handler(context), endpoint)

/** Reduces the library's tables to our columns, because it uses every column in its schema. */
const withOurColumns = <Schema extends Readonly<Record<string, { readonly fields: object }>>>(
  schema: Schema
): Schema => {
  const tables = Object.entries(apps).map(([name, { fields }]) => {
    const table = schema[name]
    const columns = Object.entries(table?.fields ?? {}).filter(([field]) => field in fields)
    return [name, { ...table, fields: Object.fromEntries(columns) }]
  })
  // The omitted fields are optional, or have defaults that the library assumes.
  return Object.fromEntries(tables) as Schema
}
