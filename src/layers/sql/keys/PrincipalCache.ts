import { Cache, Duration, Effect, Exit, Fiber, Option, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { type KeyPrincipal, type PrincipalBounds, withMember } from "../../../domain/accounts/Principal.ts"
import { type Unauthorized, unauthorized } from "../../../domain/errors.ts"
import { KeyMode } from "../../../domain/keys/ApiKey.ts"
import { readNetworks } from "../../../domain/keys/KeyBounds.ts"
import { lastUsedStepMs } from "../../../services/keys/KeyStore.ts"
import type { Keyring } from "../../../services/operations/Keyrings.ts"
import { type StoreClock, storeTime } from "../../../services/StoreClock.ts"
import { untraced } from "../../../services/telemetry/Tracing.ts"
import { AccountRow, toAccount } from "../accounts/AccountsSql.ts"
import { makeGroupCommit } from "../GroupCommit.ts"
import { columnsOf, rowsOf } from "../Rows.ts"
import { BoundsRow, isActive, originOf } from "./KeyRows.ts"
import { joinMemberBounds, MemberBoundsRow, memberBoundsColumns, toMemberBounds } from "./MemberBounds.ts"

/** Half of the 10 seconds within which changes must apply, because reading can take time too. */
const maxAge = Duration.seconds(5)

/** Keys in use are reread before their entries expire, so that no request has to wait. */
const renewEvery = Duration.seconds(3)

/** Rounds for which an unused key is renewed, so that a caller with a request every few seconds never waits. */
const maxIdleRounds = 5

const maxEntries = 10_000
/** Includes keys being read and unknown keys. */
const maxLookups = 1_000
const maxReadTogether = 256

const PrincipalRow = Schema.Struct({
  ...AccountRow.fields,
  ...BoundsRow.fields,
  ...MemberBoundsRow.fields,
  key_id: Schema.String,
  origin_id: Schema.String,
  label: Schema.String,
  mode: KeyMode,
  created_by: Schema.NullOr(Schema.String),
  last_used_at: Schema.NullOr(Schema.Date),
  revoked_at: Schema.NullOr(Schema.Date),
  digest: Schema.Uint8Array
})
type PrincipalRow = typeof PrincipalRow.Type

interface Entry {
  readonly principal: KeyPrincipal
  /** Unix milliseconds at which the key or its grace period ends. */
  readonly endsAt: number | undefined
  idleRounds: number
}

/** In base64: with the current pepper, and during a rotation also with the other one. */
export interface KeyDigests {
  readonly present: string
  readonly other?: string
  readonly pepper?: string
}

interface Deps {
  readonly pepper: Keyring
  readonly sql: SqlClient.SqlClient
  readonly clock: StoreClock["Service"]
  readonly scope: Scope.Scope
  readonly read: (digests: KeyDigests) => Effect.Effect<PrincipalRow | null>
  readonly touch: (keyId: string) => Effect.Effect<unknown>
}

const principalRows = rowsOf(PrincipalRow)

const principals = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) => {
  const columns = sql.literal(`${columnsOf(AccountRow, "a")}, ${columnsOf(BoundsRow, "b")}, ${memberBoundsColumns}`)
  return makeGroupCommit<KeyDigests, PrincipalRow | null>({
    name: "api_keys",
    ownerOf: ({ present }) => present,
    maxBatch: maxReadTogether,
    maxPerOwner: 1,
    run: Effect.fnUntraced(function* (batch) {
      const now = new Date(yield* storeTime(clock))
      const digests = batch.flatMap(({ other, present }) => (other === undefined ? [present] : [present, other]))
      const rows = yield* principalRows(sql`
        select ${columns}, k.id as key_id, ${sql.literal(originOf("k"))} as origin_id, k.label, k.mode, k.created_by,
          k.last_used_at, k.revoked_at, k.digest
        from api_keys k join accounts a on a.id = k.account_id
        left join key_bounds b on b.origin_id = ${sql.literal(originOf("k"))}
        ${sql.literal(joinMemberBounds("k.account_id", "k.created_by"))}
        where k.digest = any (${digests.map((digest) => Buffer.from(digest, "base64"))}::bytea[])
          and ${isActive(sql, "k", now)} and a.deleted_at is null`)
      const byDigest = new Map(rows.map((row) => [Buffer.from(row.digest).toString("base64"), row]))
      return batch.map(({ other = "", present }) => byDigest.get(present) ?? byDigest.get(other) ?? null)
    })
  })
}

/**
 * Writes the dates of the last use of many keys together. With many rarely used keys, each search is a first use. Keys
 * locked by another process are left out, because it writes the same.
 */
const touches = (sql: SqlClient.SqlClient, clock: StoreClock["Service"]) =>
  makeGroupCommit<string, string>({
    name: "api_keys_used",
    ownerOf: (keyId) => keyId,
    maxBatch: maxReadTogether,
    maxPerOwner: 1,
    run: Effect.fnUntraced(function* (keyIds) {
      const now = yield* storeTime(clock)
      yield* sql`
        update api_keys set last_used_at = ${new Date(now)}
        where id in (
          select id from api_keys
          where id = any (${keyIds}::text[]) and (last_used_at is null or last_used_at <= ${new Date(now - lastUsedStepMs)})
          for update skip locked
        )`
      return keyIds
    })
  })

/** Does not wait for the write. If it fails, only the date is outdated. */
const noteUse = Effect.fnUntraced(function* ({ clock, scope, touch }: Deps, { key_id, last_used_at }: PrincipalRow) {
  if (last_used_at !== null && last_used_at.getTime() > (yield* storeTime(clock)) - lastUsedStepMs) return
  yield* touch(key_id).pipe(
    Effect.catchCause((cause) => Effect.logDebug("A key's last use could not be recorded.", cause)),
    untraced,
    Effect.forkIn(scope)
  )
})

const renewDigest = (
  { pepper, scope, sql }: Deps,
  { key_id, digest }: PrincipalRow,
  { other, pepper: made, present }: KeyDigests
) => {
  const isOld = other !== undefined && Buffer.from(digest).toString("base64") === other
  // The digests may be from just before the rotation started, in which case they are in the old order.
  const isCurrent = pepper.isRotating() && pepper.values()[0].fingerprint === made
  if (!isOld || made === undefined || !isCurrent) return Effect.void
  return sql`
    update api_keys set digest = ${Buffer.from(present, "base64")}, pepper = ${made}
    where id = ${key_id} and digest = ${digest}
  `.pipe(
    Effect.catchCause((cause) => Effect.logDebug("A key's digest could not be renewed.", cause)),
    untraced,
    Effect.forkIn(scope)
  )
}

const load = (deps: Deps) =>
  Effect.fnUntraced(function* (key: string): Effect.fn.Return<Entry, Unauthorized> {
    const digests = fromCacheKey(key)
    const row = yield* deps.read(digests)
    if (row === null) return yield* unauthorized
    yield* noteUse(deps, row)
    yield* renewDigest(deps, row, digests)
    return toEntry(row, 0)
  })

const toCacheKey = ({ other, pepper, present }: KeyDigests): string =>
  other === undefined ? present : `${present} ${other} ${pepper}`

const fromCacheKey = (key: string): KeyDigests => {
  const [present = "", other, pepper] = key.split(" ")
  return other === undefined || pepper === undefined ? { present } : { present, other, pepper }
}

type Entries = Cache.Cache<string, Entry>
type Lookups = Cache.Cache<string, Entry, Unauthorized>

const find = (entries: Entries, lookups: Lookups, key: string): Effect.Effect<Entry, Unauthorized> => {
  const read = Effect.gen(function* () {
    const entry = yield* Cache.get(lookups, key)
    if (Option.getOrUndefined(yield* Cache.getSuccess(lookups, key)) !== entry) return entry
    yield* Cache.invalidate(lookups, key)
    yield* Cache.set(entries, key, entry)
    return entry
  })
  return Effect.flatMap(Cache.getSuccess(entries, key), (known) =>
    Option.isSome(known) ? Effect.succeed(known.value) : read
  )
}

const removeFrom = Effect.fnUntraced(function* <E>(cache: Cache.Cache<string, Entry, E>, digest: string) {
  const keys = Array.from(yield* Cache.keys(cache)).filter((key) => key.includes(digest))
  yield* Effect.forEach(keys, (key) => Cache.invalidate(cache, key), { discard: true })
})

const renew = Effect.fnUntraced(function* (deps: Deps, entries: Entries, key: string, entry: Entry) {
  const used = entry.idleRounds++ === 0
  const digests = fromCacheKey(key)
  const row = yield* deps.read(digests)
  // The entry was removed during the read. The row may predate the removal and must not restore the key.
  if (Option.getOrUndefined(yield* Cache.getSuccess(entries, key)) !== entry) return
  if (row === null) return yield* Cache.invalidate(entries, key)
  if (used) yield* noteUse(deps, row)
  yield* renewDigest(deps, row, digests)
  yield* Cache.set(entries, key, toEntry(row, entry.idleRounds))
})

const renewAll = (deps: Deps, entries: Entries, inUse: ReadonlyArray<readonly [string, Entry]>) =>
  Effect.forEach(inUse, ([key, entry]) => Effect.ignoreCause(renew(deps, entries, key, entry)), {
    concurrency: maxReadTogether,
    discard: true
  })

export interface PrincipalCache {
  readonly get: (digests: KeyDigests) => Effect.Effect<KeyPrincipal, Unauthorized>
  readonly remove: (digest: string) => Effect.Effect<void>
}

/** Unknown keys are cached separately: anyone can invent them, and they must not evict keys in use. */
export const makePrincipalCache = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  clock: StoreClock["Service"],
  pepper: Keyring
): Effect.fn.Return<PrincipalCache, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const deps: Deps = {
    sql,
    clock,
    pepper,
    scope,
    read: yield* principals(sql, clock),
    touch: yield* touches(sql, clock)
  }
  let renewing = false

  const lookups: Lookups = yield* Cache.makeWith(load(deps), {
    capacity: maxLookups,
    timeToLive: (exit) => (Exit.isSuccess(exit) || !Exit.hasDies(exit) ? maxAge : Duration.zero)
  })
  const entries: Entries = yield* Cache.make({
    capacity: maxEntries,
    timeToLive: maxAge,
    lookup: (_: string): Effect.Effect<Entry> => Effect.die(new Error("entries come from lookups"))
  })

  const renewal = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(renewEvery)
      const all = Array.from(yield* Cache.entries(entries))
      const inUse = all.filter(([, entry]) => entry.idleRounds < maxIdleRounds)
      // In the same synchronous step as the filter, so that a key used afterwards restarts the renewal.
      renewing = inUse.length > 0
      if (!renewing) return
      yield* renewAll(deps, entries, inUse)
    }
  })

  const use = (entry: Entry): KeyPrincipal => {
    entry.idleRounds = 0
    if (!renewing) {
      renewing = true
      // Runs outside the request's context, because the renewal serves all keys and does not belong to this trace.
      Fiber.runIn(fork(renewal), scope)
    }
    return entry.principal
  }

  return {
    get: (digests) =>
      Effect.flatMap(find(entries, lookups, toCacheKey(digests)), (entry) => {
        const { endsAt } = entry
        if (endsAt === undefined) return Effect.succeed(use(entry))
        return Effect.flatMap(storeTime(clock), (now) =>
          endsAt <= now ? Effect.fail(unauthorized) : Effect.succeed(use(entry))
        )
      }),
    remove: Effect.fnUntraced(function* (digest) {
      if (pepper.values().length === 1) {
        yield* Cache.invalidate(lookups, digest)
        return yield* Cache.invalidate(entries, digest)
      }
      yield* removeFrom(lookups, digest)
      yield* removeFrom(entries, digest)
    })
  }
})

const toPrincipal = (row: PrincipalRow): KeyPrincipal => ({
  _tag: "key",
  account: toAccount(row),
  ...(row.created_by === null ? {} : { personId: row.created_by }),
  key: { id: row.key_id, label: row.label, mode: row.mode, ...toBounds(row) }
})

/** Undefined for a key without a budget, targets and networks. */
const toOwnBounds = ({ budget_credits, networks, origin_id, targets }: PrincipalRow): PrincipalBounds | undefined =>
  budget_credits === null && networks === null && targets === null
    ? undefined
    : {
        budgets: budget_credits === null ? undefined : { own: origin_id },
        targets: targets ?? undefined,
        networks: networks === null ? undefined : readNetworks(networks)
      }

const toBounds = (row: PrincipalRow): { bounds?: PrincipalBounds } => {
  const bounds = withMember(toOwnBounds(row), toMemberBounds(row))
  return bounds === undefined ? {} : { bounds }
}

const toEntry = (row: PrincipalRow, idleRounds: number): Entry => {
  const ends = [row.expires_at, row.revoked_at].flatMap((end) => (end === null ? [] : [end.getTime()]))
  return { principal: toPrincipal(row), endsAt: ends.length === 0 ? undefined : Math.min(...ends), idleRounds }
}
