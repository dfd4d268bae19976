import { kyselyAdapter } from "@better-auth/kysely-adapter"
import type { BetterAuthOptions, DBAdapter, Where } from "better-auth"
import type { Effect } from "effect"
import type { Bridge } from "./Database.ts"

const tokenColumns = {
  token: "digest",
  clientId: "client_id",
  referenceId: "account_id",
  sessionId: "session_id",
  userId: "user_id",
  authorizationCodeId: "code_digest",
  resources: "resources",
  scopes: "scopes",
  expiresAt: "expires_at",
  createdAt: "created_at",
  revoked: "revoked_at"
} as const

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
    },
    additionalFields: { accountId: { type: "string", required: false, input: false, fieldName: "account_id" } }
  },
  verification: {
    modelName: "auth_verifications",
    fields: { identifier: "digest", expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" }
  },
  rateLimit: { modelName: "auth_rate_limits", fields: { lastRequest: "last_request" } }
} as const

export const factors = {
  user: { fields: { twoFactorEnabled: "two_factor_enabled" } },
  twoFactor: {
    modelName: "auth_authenticators",
    fields: { userId: "user_id", secret: "secret", backupCodes: "recovery_codes", verified: "verified" }
  },
  passkey: {
    modelName: "auth_passkeys",
    fields: {
      userId: "user_id",
      publicKey: "public_key",
      credentialID: "credential_id",
      deviceType: "device_type",
      backedUp: "backed_up",
      createdAt: "created_at"
    }
  }
} as const

/** Library fields that are not listed are not stored. */
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
      referenceId: "account_id",
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

const tokenFields: Readonly<Record<string, string>> = { session: "token", verification: "identifier" }

/** Not stored: unused tokens of identity providers, and plaintext tokens kept to replay a refresh. */
const omittedFields: Readonly<Record<string, ReadonlySet<string>>> = {
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

type Conditions = ReadonlyArray<Where> | undefined

type Digest = (model: string, token: string) => string

export interface StoreOptions {
  /** Milliseconds by which the database's clock is ahead of the library's. */
  readonly skewMs: () => number
  readonly bridge: Bridge
  readonly digest: Digest
  readonly onSessionStart: (userId: string) => Effect.Effect<unknown, unknown>
  readonly onSessionsEnd: (userId: string) => Effect.Effect<unknown, unknown>
}

interface Deps extends StoreOptions {
  /** The library's own adapter, which does not use digests. */
  readonly plain: DBAdapter
}

const digestValue = (digest: Digest, model: string, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => digestValue(digest, model, item))
  return typeof value === "string" ? digest(model, value) : value
}

const moved = (model: string, field: string, value: unknown, ms: number): unknown => {
  if (value instanceof Date) return new Date(value.getTime() + ms)
  const isTime = model === "rateLimit" && field === "lastRequest" && typeof value === "number"
  return isTime ? value + ms : value
}

const toStoredRow = <A extends Row>({ digest, skewMs }: Deps, model: string, row: A): A => {
  const fields = Object.entries(row).filter(([name]) => omittedFields[model]?.has(name) !== true)
  // The cast is safe, because the omitted fields are optional to the library.
  return Object.fromEntries(
    fields.map(([name, value]) => [
      name,
      name === tokenFields[model] ? digestValue(digest, model, value) : moved(model, name, value, skewMs())
    ])
  ) as A
}

/** Postgres rejects NUL in text. Stored text has none, so a query with NUL must match no row. */
const withoutNul = (value: Where["value"]): Where["value"] =>
  typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value

/** The casts: digests replace text with text, and `moved` a time with a time. */
const toStoredConditions = ({ digest, skewMs }: Deps, model: string, where: Conditions): Array<Where> =>
  (where ?? []).map((condition) =>
    condition.field === tokenFields[model]
      ? { ...condition, value: digestValue(digest, model, condition.value) as Where["value"] }
      : { ...condition, value: withoutNul(moved(model, condition.field, condition.value, skewMs()) as Where["value"]) }
  )

const tokenIn = (model: string, where: Conditions): unknown =>
  where?.find(({ field }) => field === tokenFields[model])?.value

const toLibraryRow = <A>({ skewMs }: Deps, model: string, row: A, token: unknown): A => {
  if (row === null || typeof row !== "object") return row
  const ms = -skewMs()
  // The cast is safe, because only the values of time fields change.
  const shifted = Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, moved(model, name, value, ms)])
  ) as A
  const field = tokenFields[model]
  return field === undefined || typeof token !== "string" ? shifted : { ...shifted, [field]: token }
}

/** Changes that triggers record as activity (R68). */
const recorded: ReadonlySet<string> = new Set([
  "create account",
  "create oauthConsent",
  "update account",
  "update user",
  "delete session",
  "delete oauthConsent"
])

/** The bridge's transactions know the requester. */
const inActivity = <A>({ bridge }: Deps, change: string, run: () => Promise<A>): Promise<A> =>
  recorded.has(change) ? bridge.transaction(run) : run()

const create =
  (deps: Deps) =>
  async <A extends Row, B = A>(query: {
    model: string
    data: Omit<A, "id">
    forceAllowId?: boolean | undefined
  }): Promise<B> => {
    const { data, model } = query
    const fields: Row = data
    const insert = async () => {
      const row = await deps.plain.create<A, B>({ ...query, data: toStoredRow(deps, model, data) })
      return toLibraryRow(deps, model, row, fields[tokenFields[model] ?? ""])
    }
    if (model !== "session") return inActivity(deps, `create ${model}`, insert)
    const { bridge, onSessionStart } = deps
    return bridge.transaction(async () => {
      await bridge.run(onSessionStart(String(fields.userId)))
      return insert()
    })
  }

const findOne =
  (deps: Deps) =>
  async <A>(query: Parameters<DBAdapter["findOne"]>[0]): Promise<A | null> => {
    const { model, where } = query
    const row = await deps.plain.findOne<A>({ ...query, where: toStoredConditions(deps, model, where) })
    return toLibraryRow(deps, model, row, tokenIn(model, where))
  }

const findMany =
  (deps: Deps) =>
  async <A>(query: Parameters<DBAdapter["findMany"]>[0]): Promise<Array<A>> => {
    const { model, where } = query
    const rows = await deps.plain.findMany<A>({ ...query, where: toStoredConditions(deps, model, where) })
    return rows.map((row) => toLibraryRow(deps, model, row, tokenIn(model, where)))
  }

const update =
  (deps: Deps) =>
  async <A>(query: Parameters<DBAdapter["update"]>[0]): Promise<A | null> => {
    const { model, where } = query
    const conditions = toStoredConditions(deps, model, where)
    const changes = toStoredRow(deps, model, query.update)
    // An update of omitted fields only would be a statement without columns.
    const row = await (Object.keys(changes).length === 0
      ? deps.plain.findOne<A>({ model, where: conditions })
      : inActivity(deps, `update ${model}`, () => deps.plain.update<A>({ model, where: conditions, update: changes })))
    return toLibraryRow(deps, model, row, tokenIn(model, where))
  }

const deleteMany =
  (deps: Deps): DBAdapter["deleteMany"] =>
  ({ model, where }) => {
    const { bridge, onSessionsEnd, plain } = deps
    const remove = () => plain.deleteMany({ model, where: toStoredConditions(deps, model, where) })
    const userId = model === "session" ? where?.find(({ field }) => field === "userId")?.value : undefined
    if (typeof userId !== "string") return remove()
    return bridge.transaction(async () => {
      await bridge.run(onSessionsEnd(userId))
      return remove()
    })
  }

const consumeOne =
  (deps: Deps) =>
  async <A>({ model, where }: Parameters<DBAdapter["consumeOne"]>[0]): Promise<A | null> => {
    const row = await deps.plain.consumeOne<A>({ model, where: toStoredConditions(deps, model, where) })
    return toLibraryRow(deps, model, row, tokenIn(model, where))
  }

/** Stores tokens as digests. The library sees only the plaintext token of its own query. */
export const makeStore =
  (store: StoreOptions) =>
  (options: BetterAuthOptions): DBAdapter => {
    const plain = kyselyAdapter(store.bridge.database, { type: "postgres" })(options)
    const deps: Deps = { ...store, plain }
    const adapter: DBAdapter = {
      ...plain,
      create: create(deps),
      findOne: findOne(deps),
      findMany: findMany(deps),
      count: ({ model, where }) => plain.count({ model, where: toStoredConditions(deps, model, where) }),
      update: update(deps),
      updateMany: ({ model, update, where }) =>
        inActivity(deps, `update ${model}`, () =>
          plain.updateMany({
            model,
            where: toStoredConditions(deps, model, where),
            update: toStoredRow(deps, model, update)
          })
        ),
      delete: ({ model, where }) =>
        inActivity(deps, `delete ${model}`, () =>
          plain.delete({ model, where: toStoredConditions(deps, model, where) })
        ),
      deleteMany: deleteMany(deps),
      consumeOne: consumeOne(deps),
      // The same adapter works here, because the bridge provides the transaction's connection.
      transaction: (body) => store.bridge.transaction(() => body(adapter))
    }
    return adapter
  }
