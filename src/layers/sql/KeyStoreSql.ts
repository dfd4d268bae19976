import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ApiKey, isSecret, KeyMode, makeSecret, secretHint } from "../../domain/ApiKey.ts"
import { unauthorized } from "../../domain/errors.ts"
import { isCarriable } from "../../domain/text.ts"
import { noSuchAccount } from "../../services/Accounts.ts"
import { Ids } from "../../services/Ids.ts"
import type { Keyring, SecretValue } from "../../services/Keyrings.ts"
import {
  KeyStore,
  maxActiveKeys,
  maxRevokedListed,
  noActiveKey,
  noSuchKey,
  tooManyKeys
} from "../../services/KeyStore.ts"
import { StoreClock, storeTime } from "../../services/StoreClock.ts"
import { type KeyDigests, makePrincipalCache, type PrincipalCache } from "./PrincipalCache.ts"
import { columnsOf, rowOf, rowsOf } from "./Rows.ts"
import { retryTransient } from "./Transient.ts"

export interface KeyStoreOptions {
  /** The key of the digests: without it a copy of the database cannot be searched for guessed secrets. */
  readonly pepper: Keyring
}

const KeyRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  label: Schema.String,
  mode: KeyMode,
  digest: Schema.Uint8Array,
  hint: Schema.String,
  created_at: Schema.Date,
  last_used_at: Schema.NullOr(Schema.Date),
  revoked_at: Schema.NullOr(Schema.Date)
})
type KeyRow = typeof KeyRow.Type

const keyColumns = columnsOf(KeyRow)
const keyRow = rowOf(KeyRow)
const keyRows = rowsOf(KeyRow)
const countRow = rowOf(Schema.Struct({ active: Schema.Int }))

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock
  readonly ids: Ids["Service"]
  readonly principals: PrincipalCache
  readonly pepper: Keyring
  readonly digests: Digests
}

interface Digests {
  /** The digest of a secret by the pepper in use, in base64. */
  readonly present: (secret: string) => string
  /** The digests of a secret by all peppers, that in use first. */
  readonly all: (secret: string) => KeyDigests
}

/** Makes digests. A key object is made once: making it from text takes half of the time of a digest. */
const makeDigests = (pepper: Keyring): Digests => {
  const keys = new Map<string, KeyObject>()
  const digestBy = ({ fingerprint, secret }: SecretValue, text: string): string => {
    let key = keys.get(fingerprint)
    if (key === undefined) {
      key = createSecretKey(Redacted.value(secret), "utf8")
      keys.set(fingerprint, key)
    }
    return createHmac("sha256", key).update(text).digest("base64")
  }
  return {
    present: (text) => digestBy(pepper.values()[0], text),
    all: (text) => {
      const [first, second] = pepper.values()
      const present = digestBy(first, text)
      return second === undefined ? { present } : { present, other: digestBy(second, text), pepper: first.fingerprint }
    }
  }
}

const authenticate =
  ({ digests, principals }: Deps) =>
  (secret: Redacted.Redacted) => {
    const text = Redacted.value(secret)
    return isSecret(text) ? principals.get(digests.all(text)) : Effect.fail(unauthorized)
  }

const issue = Effect.fnUntraced(function* (deps: Deps, accountId: string, label: string, mode: KeyMode) {
  const { clock, digests, ids, pepper, sql } = deps
  const secret = makeSecret(mode, yield* ids.entropy(32))
  const now = new Date(yield* storeTime(clock))
  const key = yield* keyRow(sql`
    insert into api_keys (id, account_id, label, mode, digest, pepper, hint, created_at)
    select ${yield* ids.make("key_")}, id, ${label}, ${mode}, ${Buffer.from(digests.present(secret), "base64")},
      ${pepper.values()[0].fingerprint}, ${secretHint(secret)}, ${now}
    from accounts where id = ${accountId} and deleted_at is null
    returning ${sql.literal(keyColumns)}`)
  if (key === undefined) return yield* noSuchAccount(accountId)
  return { key: toApiKey(key), secret: Redacted.make(secret) }
})

/** Counts the account's keys behind the lock of its row: concurrent creations wait and count each other's keys. */
const countActive = Effect.fnUntraced(function* ({ sql }: Deps, accountId: string) {
  yield* sql`select from accounts where id = ${accountId} for no key update`
  const row = yield* countRow(sql`
    select count(*)::int as active from api_keys where account_id = ${accountId} and revoked_at is null`)
  return row?.active ?? 0
})

const create = (deps: Deps) =>
  Effect.fn("KeyStore.create")(
    function* (accountId: string, { label, mode }: { readonly label: string; readonly mode: KeyMode }) {
      if ((yield* countActive(deps, accountId)) >= maxActiveKeys) return yield* tooManyKeys
      return yield* issue(deps, accountId, label, mode)
    },
    deps.sql.withTransaction,
    Effect.catchTag("SqlError", Effect.die)
  )

/** Removes the key from this process's cache, so that here its end counts at once. */
const forget = ({ principals }: Deps, key: KeyRow) => principals.remove(Buffer.from(key.digest).toString("base64"))

/** Ends a key: any key when `accountId` is undefined, else only one of that account. */
const end = Effect.fnUntraced(function* ({ clock, sql }: Deps, id: string, accountId: string | undefined) {
  const now = new Date(yield* storeTime(clock))
  // The id is a part of a URL's path and can hold text that Postgres refuses: no key has such an id.
  const key = isCarriable(id)
    ? yield* keyRow(sql`
        update api_keys set revoked_at = ${now}
        where id = ${id} and revoked_at is null
          ${accountId === undefined ? sql`` : sql`and account_id = ${accountId}`}
        returning ${sql.literal(keyColumns)}`)
    : undefined
  if (key !== undefined) return key
  return yield* accountId === undefined ? noActiveKey(id) : noSuchKey
})

const revoke = (deps: Deps) =>
  Effect.fn("KeyStore.revoke")(
    function* (id: string, accountId: string | undefined) {
      const key = yield* end(deps, id, accountId)
      yield* forget(deps, key)
      return toApiKey(key)
    },
    Effect.catchTag("SqlError", Effect.die)
  )

const rotate = (deps: Deps) =>
  Effect.fn("KeyStore.rotate")(
    function* (id: string, accountId: string | undefined) {
      const [old, issued] = yield* deps.sql.withTransaction(
        Effect.flatMap(end(deps, id, accountId), (key) =>
          Effect.map(issue(deps, key.account_id, key.label, key.mode), (issued) => [key, issued] as const)
        )
      )
      yield* forget(deps, old)
      return issued
    },
    Effect.catchTag("SqlError", Effect.die)
  )

const list = ({ sql }: Deps) =>
  Effect.fn("KeyStore.list")(function* (accountId: string) {
    const rows = yield* retryTransient(
      keyRows(sql`
        select ${sql.literal(keyColumns)} from api_keys where account_id = ${accountId} and (
          revoked_at is null or id in (
            select id from api_keys where account_id = ${accountId} and revoked_at is not null
            order by revoked_at desc, id limit ${maxRevokedListed}
          )
        )
        order by created_at desc, id`)
    )
    return rows.map(toApiKey)
  }, Effect.orDie)

const listAll = ({ sql }: Deps) =>
  Effect.fn("KeyStore.listAll")(function* (page: { readonly after: string | undefined; readonly limit: number }) {
    const { after, limit } = page
    const rows = yield* retryTransient(
      keyRows(sql`
        select ${sql.literal(keyColumns)} from api_keys
        where ${
          after === undefined
            ? sql`true`
            : sql`(created_at, id) < (select created_at, id from api_keys where id = ${after})`
        }
        order by created_at desc, id desc limit ${limit}`)
    )
    return rows.map(toApiKey)
  }, Effect.orDie)

const revokeAll = (deps: Deps) =>
  Effect.fn("KeyStore.revokeAll")(function* (accountId: string) {
    const { clock, sql } = deps
    const now = new Date(yield* storeTime(clock))
    const rows = yield* keyRows(sql`
      update api_keys set revoked_at = ${now} where account_id = ${accountId} and revoked_at is null
      returning ${sql.literal(keyColumns)}`)
    yield* Effect.forEach(rows, (key) => forget(deps, key), { discard: true })
    return rows.map(toApiKey)
  }, Effect.orDie)

/** API keys in Postgres or PGlite, with the principals of the last seconds in process. */
export const layer = (options: KeyStoreOptions): Layer.Layer<KeyStore, never, SqlClient.SqlClient | Ids> =>
  Layer.effect(
    KeyStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* StoreClock
      const { pepper } = options
      const deps: Deps = {
        sql,
        ids: yield* Ids,
        clock,
        principals: yield* makePrincipalCache(sql, clock, pepper),
        pepper,
        digests: makeDigests(pepper)
      }
      const revokeKey = revoke(deps)
      const rotateKey = rotate(deps)
      return KeyStore.of({
        authenticate: authenticate(deps),
        create: create(deps),
        list: list(deps),
        listAll: listAll(deps),
        revokeAll: revokeAll(deps),
        revoke: (id) => revokeKey(id, undefined),
        rotate: (id) => rotateKey(id, undefined),
        revokeOwn: (accountId, id) => revokeKey(id, accountId),
        rotateOwn: (accountId, id) => rotateKey(id, accountId)
      })
    })
  )

const toApiKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  label: row.label,
  mode: row.mode,
  hint: row.hint,
  createdAt: row.created_at.getTime(),
  lastUsedAt: row.last_used_at?.getTime(),
  revokedAt: row.revoked_at?.getTime()
})
