import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import { Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { unauthorized } from "../../../domain/errors.ts"
import { isSecret, KeyMode, makeSecret, secretHint } from "../../../domain/keys/ApiKey.ts"
import type { BoundsChange } from "../../../domain/keys/KeyBounds.ts"
import { isCarriable } from "../../../domain/text.ts"
import { noSuchAccount } from "../../../services/accounts/Accounts.ts"
import { Ids } from "../../../services/Ids.ts"
import {
  KeyStore,
  maxActiveKeys,
  maxGraces,
  maxRevokedListed,
  type NewKeyOptions,
  noActiveKey,
  noSuchKey,
  requireFuture,
  tooManyGraces,
  tooManyKeys
} from "../../../services/keys/KeyStore.ts"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"
import { StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { inActivity } from "../Requester.ts"
import { countOf, idRow, rowOf, rowsOf } from "../Rows.ts"
import { dieOnSqlError } from "../Transaction.ts"
import { retryTransient } from "../Transient.ts"
import { isActive, originOf, readKeys, writeBounds } from "./KeyRows.ts"
import { type KeyDigests, makePrincipalCache, type PrincipalCache } from "./PrincipalCache.ts"

export interface KeyStoreOptions {
  /** Without it, a copy of the database cannot be used to test guessed API keys. */
  readonly pepper: Keyring
}

const ChangedKey = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  label: Schema.String,
  mode: KeyMode,
  digest: Schema.Uint8Array,
  origin_id: Schema.String,
  created_by: Schema.NullOr(Schema.String)
})
type ChangedKey = typeof ChangedKey.Type

const changedColumns = `k.id, k.account_id, k.label, k.mode, k.digest, ${originOf("k")} as origin_id, k.created_by`
const changedRow = rowOf(ChangedKey)
const changedRows = rowsOf(ChangedKey)

interface Deps {
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly ids: Ids["Service"]
  readonly principals: PrincipalCache
  readonly pepper: Keyring
  readonly digests: Digests
}

interface Digests {
  readonly present: (secret: string) => string
  readonly all: (secret: string) => KeyDigests
}

/** Reuses key objects: creating one takes half as long as computing a digest. */
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

const readKey = Effect.fnUntraced(function* ({ sql }: Deps, id: string, now: Date) {
  const [key] = yield* readKeys(sql, now, sql`k.id = ${id}`)
  return key === undefined ? yield* Effect.die(new Error(`key ${id} is gone`)) : key
})

interface Issue extends NewKeyOptions {
  readonly accountId: string
  readonly originId: string | null
}

/** The trigger of `events_of_keys.sql` writes `key.created` or `key.rotated`, which webhooks and the activity get. */
const issue = Effect.fnUntraced(function* (deps: Deps, options: Issue, now: Date) {
  const { accountId, bounds, createdBy = null, label, mode, originId } = options
  const { digests, ids, pepper, sql } = deps
  const secret = makeSecret(mode, yield* ids.entropy(32))
  const made = yield* idRow(sql`
    insert into api_keys (id, account_id, label, mode, digest, pepper, hint, created_at, origin_id, created_by)
    select ${yield* ids.make("key_")}, id, ${label}, ${mode}, ${Buffer.from(digests.present(secret), "base64")},
      ${pepper.values()[0].fingerprint}, ${secretHint(secret)}, ${now}, ${originId}, ${createdBy}
    from accounts where id = ${accountId} and deleted_at is null
    returning id`)
  if (made === undefined) return yield* noSuchAccount(accountId)
  if (bounds !== undefined) yield* writeBounds(deps.sql, made.id, bounds)
  return { key: yield* readKey(deps, made.id, now), secret: Redacted.make(secret) }
})

/** Holds the account's row lock, so that concurrent creations count each other's keys. */
const countActive = Effect.fnUntraced(function* ({ sql }: Deps, accountId: string) {
  yield* sql`select from accounts where id = ${accountId} for no key update`
  return yield* countOf(sql`
    select count(*)::int as count from api_keys where account_id = ${accountId} and revoked_at is null`)
})

const create = (deps: Deps) =>
  Effect.fn("KeyStore.create")(function* (accountId: string, options: NewKeyOptions) {
    const now = yield* storeTime(deps.clock)
    yield* requireFuture(options.bounds, now)
    if ((yield* countActive(deps, accountId)) >= maxActiveKeys) return yield* tooManyKeys
    return yield* issue(deps, { ...options, accountId, originId: null }, new Date(now))
  }, inActivity(deps.sql))

const forget = ({ principals }: Deps, keys: ReadonlyArray<ChangedKey>) =>
  Effect.forEach(keys, ({ digest }) => principals.remove(Buffer.from(digest).toString("base64")), { discard: true })

const isNamed = (sql: SqlClient.SqlClient, alias: string, id: string, accountId: string | undefined) => {
  // The id comes from a URL path and may contain characters that Postgres rejects. No key has such an id.
  if (!isCarriable(id)) return sql`false`
  const key = sql.literal(alias)
  return accountId === undefined ? sql`${key}.id = ${id}` : sql`${key}.id = ${id} and ${key}.account_id = ${accountId}`
}

const missing = (id: string, accountId: string | undefined) => (accountId === undefined ? noActiveKey(id) : noSuchKey)

const revoke = (deps: Deps) =>
  Effect.fn("KeyStore.revoke")(function* (id: string, accountId: string | undefined) {
    const { clock, sql } = deps
    const now = new Date(yield* storeTime(clock))
    const keys = yield* inActivity(sql)(
      changedRows(sql`
        update api_keys k set revoked_at = ${now} from api_keys t
        where ${isNamed(sql, "t", id, accountId)} and ${isActive(sql, "t", now)}
          and k.account_id = t.account_id and ${isActive(sql, "k", now)}
          and (k.id = t.id or (t.revoked_at is null and ${sql.literal(`${originOf("k")} = ${originOf("t")}`)}))
        returning ${sql.literal(changedColumns)}`)
    )
    if (keys.length === 0) return yield* missing(id, accountId)
    yield* forget(deps, keys)
    return yield* readKey(deps, id, now)
  }, dieOnSqlError)

const countGraces = ({ sql }: Deps, key: ChangedKey, now: Date) =>
  countOf(sql`
    select count(*)::int as count from api_keys k
    where k.account_id = ${key.account_id} and ${sql.literal(originOf("k"))} = ${key.origin_id}
      and k.id <> ${key.id} and k.revoked_at > ${now}`)

const rotate = (deps: Deps) =>
  Effect.fn("KeyStore.rotate")(function* (id: string, accountId: string | undefined, graceSeconds: number) {
    const { clock, sql } = deps
    const now = yield* storeTime(clock)
    const replace = Effect.gen(function* () {
      const old = yield* changedRow(sql`
          update api_keys k set revoked_at = ${new Date(now + graceSeconds * 1000)}
          where ${isNamed(sql, "k", id, accountId)} and k.revoked_at is null
          returning ${sql.literal(changedColumns)}`)
      if (old === undefined) return yield* missing(id, accountId)
      if (graceSeconds > 0 && (yield* countGraces(deps, old, new Date(now))) >= maxGraces) return yield* tooManyGraces
      const { account_id, created_by, label, mode, origin_id } = old
      const renewed = { accountId: account_id, label, mode, originId: origin_id, createdBy: created_by ?? undefined }
      const issued = yield* issue(deps, renewed, new Date(now))
      return { old, issued }
    })
    const { issued, old } = yield* inActivity(sql)(replace)
    yield* forget(deps, [old])
    return issued
  }, dieOnSqlError)

const bind = (deps: Deps) =>
  Effect.fn("KeyStore.bind")(function* (id: string, accountId: string | undefined, change: BoundsChange) {
    const { clock, sql } = deps
    const at = yield* storeTime(clock)
    const now = new Date(at)
    yield* requireFuture(change, at)
    const write = Effect.gen(function* () {
      const key = yield* changedRow(sql`
          select ${sql.literal(changedColumns)} from api_keys k
          where ${isNamed(sql, "k", id, accountId)} and k.revoked_at is null for no key update`)
      if (key === undefined) return yield* missing(id, accountId)
      yield* writeBounds(deps.sql, key.origin_id, change)
      return yield* changedRows(sql`
          select ${sql.literal(changedColumns)} from api_keys k
          where k.account_id = ${key.account_id} and ${sql.literal(originOf("k"))} = ${key.origin_id}
            and ${isActive(sql, "k", now)}`)
    })
    yield* forget(deps, yield* inActivity(sql)(write))
    return yield* readKey(deps, id, now)
  }, dieOnSqlError)

const list = ({ clock, sql }: Deps) =>
  Effect.fn("KeyStore.list")(function* (accountId: string) {
    const now = new Date(yield* storeTime(clock))
    return yield* retryTransient(
      readKeys(
        sql,
        now,
        sql`k.account_id = ${accountId} and (
          ${isActive(sql, "k", now)} or k.id in (
            select id from api_keys where account_id = ${accountId} and revoked_at <= ${now}
            order by revoked_at desc, id limit ${maxRevokedListed}
          )
        )
        order by k.created_at desc, k.id`
      )
    )
  }, Effect.orDie)

const listAll = ({ clock, sql }: Deps) =>
  Effect.fn("KeyStore.listAll")(function* (page: { readonly after: string | undefined; readonly limit: number }) {
    const { after, limit } = page
    const from =
      after === undefined
        ? sql`true`
        : sql`(k.created_at, k.id) < (select created_at, id from api_keys where id = ${after})`
    const now = new Date(yield* storeTime(clock))
    return yield* retryTransient(readKeys(sql, now, sql`${from} order by k.created_at desc, k.id desc limit ${limit}`))
  }, Effect.orDie)

const revokeAll = (deps: Deps) =>
  Effect.fn("KeyStore.revokeAll")(function* (accountId: string) {
    const { clock, sql } = deps
    const now = new Date(yield* storeTime(clock))
    const keys = yield* changedRows(sql`
      update api_keys k set revoked_at = ${now} where k.account_id = ${accountId} and ${isActive(sql, "k", now)}
      returning ${sql.literal(changedColumns)}`)
    yield* forget(deps, keys)
    return yield* readKeys(sql, now, sql`k.id = any (${keys.map(({ id }) => id)}::text[]) order by k.created_at desc`)
  }, Effect.orDie)

export const layer = (options: KeyStoreOptions): Layer.Layer<KeyStore, never, SqlClient.SqlClient | Ids | StoreClock> =>
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
      const bindKey = bind(deps)
      return KeyStore.of({
        authenticate: authenticate(deps),
        create: create(deps),
        list: list(deps),
        listAll: listAll(deps),
        revokeAll: revokeAll(deps),
        revoke: (id) => revokeKey(id, undefined),
        rotate: (id, graceSeconds = 0) => rotateKey(id, undefined, graceSeconds),
        bind: (id, change) => bindKey(id, undefined, change),
        revokeOwn: (accountId, id) => revokeKey(id, accountId),
        rotateOwn: (accountId, id, graceSeconds = 0) => rotateKey(id, accountId, graceSeconds),
        bindOwn: (accountId, id, change) => bindKey(id, accountId, change)
      })
    })
  )
