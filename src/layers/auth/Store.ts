import { kyselyAdapter } from "@better-auth/kysely-adapter"
import type { BetterAuthOptions, DBAdapter, Where } from "better-auth"
import type { Effect } from "effect"
import type { Bridge } from "./Database.ts"

const tokenColumns = {
  token: "digest",
  clientId: "client_id",
  sessionId: "session_id",
  userId: "user_id",
  authorizationCodeId: "code_digest",
  resources: "resources",
  scopes: "scopes",
  expiresAt: "expires_at",
  createdAt: "created_at",
  revoked: "revoked_at"
} as const

/** Our names of the library's tables and columns. */
export const tables = {
  user: {
    modelName: "auth_users",
    fields: { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" }
  },
  account: {
    modelName: "auth_identities",
    fields: {
      userId: "user_id",
      providerId: "provider",
      accountId: "subject",
      createdAt: "created_at",
      updatedAt: "updated_at"
    }
  },
  session: {
    modelName: "auth_sessions",
    fields: {
      userId: "user_id",
      token: "digest",
      expiresAt: "expires_at",
      ipAddress: "ip_address",
      userAgent: "user_agent",
      createdAt: "created_at",
      updatedAt: "updated_at"
    }
  },
  verification: {
    modelName: "auth_verifications",
    fields: { identifier: "digest", expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" }
  },
  rateLimit: { modelName: "auth_rate_limits", fields: { lastRequest: "last_request" } }
} as const

/** The same for apps that people let in, and all that is kept of them: the library has fields for more. */
export const apps = {
  oauthClient: {
    modelName: "auth_apps",
    fields: {
      clientId: "client_id",
      name: "name",
      scopes: "scopes",
      redirectUris: "redirect_uris",
      grantTypes: "grant_types",
      responseTypes: "response_types",
      tokenEndpointAuthMethod: "token_endpoint_auth_method",
      applicationType: "application_type",
      createdAt: "created_at",
      updatedAt: "updated_at"
    }
  },
  oauthResource: {
    modelName: "auth_resources",
    fields: { identifier: "identifier", name: "name", createdAt: "created_at", updatedAt: "updated_at" }
  },
  oauthClientResource: {
    modelName: "auth_app_resources",
    fields: { clientId: "client_id", resourceId: "resource", createdAt: "created_at" }
  },
  oauthConsent: {
    modelName: "auth_consents",
    fields: {
      clientId: "client_id",
      userId: "user_id",
      resources: "resources",
      scopes: "scopes",
      createdAt: "created_at",
      updatedAt: "updated_at"
    }
  },
  oauthRefreshToken: {
    modelName: "auth_refresh_tokens",
    fields: {
      ...tokenColumns,
      rotatedAt: "rotated_at",
      rotationReplayExpiresAt: "rotation_settled_at",
      authTime: "signed_in_at"
    }
  },
  oauthAccessToken: { modelName: "auth_access_tokens", fields: { ...tokenColumns, refreshId: "refresh_id" } }
} as const

/** The field of a model that holds a live token. */
const tokenFields: Readonly<Record<string, string>> = { session: "token", verification: "identifier" }

/**
 * What is not kept. Of an identity, what its provider hands out: nothing here calls a provider again. Of a refresh
 * token, the tokens that were given for it, which would be there to be read.
 */
const unkept: Readonly<Record<string, ReadonlySet<string>>> = {
  account: new Set([
    "accessToken",
    "refreshToken",
    "idToken",
    "accessTokenExpiresAt",
    "refreshTokenExpiresAt",
    "scope"
  ]),
  oauthRefreshToken: new Set(["rotationReplayResponse"])
}

type Row = Record<string, unknown>

/**
 * The library's storage. Tokens are stored and looked up by digest, and given back as they were given: the library
 * never sees a digest of a token that it knows.
 */
export const makeStore =
  (
    bridge: Bridge,
    digest: (model: string, token: string) => string,
    /** Runs in the transaction that ends every session of a person. */
    onSignOutEverywhere: (userId: string) => Effect.Effect<unknown, unknown>
  ) =>
  (options: BetterAuthOptions): DBAdapter => {
    const plain = kyselyAdapter(bridge.database, { type: "postgres" })(options)

    const stored = <A extends Row>(model: string, data: A): A => {
      const kept = Object.entries(data).filter(([name]) => unkept[model]?.has(name) !== true)
      // The same fields or fewer, all of them optional to the library.
      return Object.fromEntries(
        kept.map(([name, value]) => [name, name === tokenFields[model] ? digestIn(model, value) : value])
      ) as A
    }

    const digestIn = (model: string, value: unknown): unknown =>
      Array.isArray(value)
        ? value.map((item) => digestIn(model, item))
        : typeof value === "string"
          ? digest(model, value)
          : value

    /** Nothing is stored with a NUL, which Postgres refuses even to look for. */
    const findable = (value: Where["value"]): Where["value"] =>
      typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value

    const sought = (model: string, where: ReadonlyArray<Where> | undefined): Array<Where> =>
      (where ?? []).map((condition) =>
        condition.field === tokenFields[model]
          ? { ...condition, value: digestIn(model, condition.value) as Where["value"] }
          : { ...condition, value: findable(condition.value) }
      )

    /** The row with the token that the caller named, in place of its digest. */
    const restored = <A>(model: string, row: A, known: unknown): A => {
      const field = tokenFields[model]
      return row === null || field === undefined || typeof known !== "string" ? row : { ...row, [field]: known }
    }

    const named = (model: string, where: ReadonlyArray<Where> | undefined): unknown =>
      where?.find(({ field }) => field === tokenFields[model])?.value

    const store: DBAdapter = {
      ...plain,
      create: async <A extends Row, B = A>(query: {
        model: string
        data: Omit<A, "id">
        forceAllowId?: boolean | undefined
      }) => {
        const { data, model } = query
        const row = await plain.create<A, B>({ ...query, data: stored(model, data) })
        return restored(model, row, (data as Row)[tokenFields[model] ?? ""])
      },
      findOne: async <A>(query: Parameters<DBAdapter["findOne"]>[0]) => {
        const { model, where } = query
        return restored(model, await plain.findOne<A>({ ...query, where: sought(model, where) }), named(model, where))
      },
      findMany: async <A>(query: Parameters<DBAdapter["findMany"]>[0]) => {
        const { model, where } = query
        const rows = await plain.findMany<A>({ ...query, where: sought(model, where) })
        return rows.map((row) => restored(model, row, named(model, where)))
      },
      count: (query) => plain.count({ ...query, where: sought(query.model, query.where) }),
      update: async <A>(query: Parameters<DBAdapter["update"]>[0]) => {
        const { model, update, where } = query
        const kept = stored(model, update)
        const row = await (Object.keys(kept).length === 0
          ? plain.findOne<A>({ model, where: sought(model, where) })
          : plain.update<A>({ model, where: sought(model, where), update: kept }))
        return restored(model, row, named(model, where))
      },
      updateMany: ({ model, update, where }) =>
        plain.updateMany({ model, where: sought(model, where), update: stored(model, update) }),
      delete: ({ model, where }) => plain.delete({ model, where: sought(model, where) }),
      deleteMany: ({ model, where }) => {
        const remove = () => plain.deleteMany({ model, where: sought(model, where) })
        const person = model === "session" ? where?.find(({ field }) => field === "userId")?.value : undefined
        if (typeof person !== "string") return remove()
        return bridge.transaction(async () => {
          await bridge.run(onSignOutEverywhere(person))
          return remove()
        })
      },
      consumeOne: async <A>({ model, where }: Parameters<DBAdapter["consumeOne"]>[0]) =>
        restored(model, await plain.consumeOne<A>({ model, where: sought(model, where) }), named(model, where)),
      // The connection of the transaction is the bridge's business.
      transaction: (body) => bridge.transaction(() => body(store))
    }
    return store
  }
