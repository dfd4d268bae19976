import { createHmac, createSecretKey } from "node:crypto"
import { Cache, Clock, Duration, Effect, Exit, Fiber, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type ApiKey, isSecret, type KeyMode, makeSecret, secretHint } from "../../domain/ApiKey.ts"
import { type Unauthorized, unauthorized } from "../../domain/errors.ts"
import type { KeyPrincipal } from "../../domain/Principal.ts"
import { isCarriable } from "../../domain/text.ts"
import { noSuchAccount } from "../../services/Accounts.ts"
import { Ids } from "../../services/Ids.ts"
import {
  KeyStore,
  lastUsedStepMs,
  maxActiveKeys,
  maxRevokedListed,
  noActiveKey,
  noSuchKey,
  tooManyKeys
} from "../../services/KeyStore.ts"
import { type AccountRow, toAccount } from "./AccountsSql.ts"
import { makeGroupCommit } from "./GroupCommit.ts"
import { retryTransient } from "./Transient.ts"

export interface KeyStoreOptions {
  /** The key of the digests: without it a copy of the database cannot be searched for guessed secrets. */
  readonly pepper: Redacted.Redacted
}

/** How long an answer is kept: half of the 10 seconds it may be old, because getting one can take a while too. */
const maxAge = Duration.seconds(5)

/** Keys in use are read anew before their answers are that old, so that their callers wait for none of it. */
const renewEvery = Duration.seconds(3)

/** For so many rounds a key is read anew that nobody has used: a caller of every few seconds does not wait either. */
const maxIdleRounds = 5

const maxCachedDigests = 10_000
const maxReadTogether = 256

interface KeyRow {
  readonly id: string
  readonly account_id: string
  readonly label: string
  readonly mode: KeyMode
  readonly digest: Uint8Array
  readonly hint: string
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly revoked_at: Date | null
}

interface PrincipalRow extends AccountRow {
  readonly digest: Uint8Array
  readonly key_id: string
  readonly label: string
  readonly mode: KeyMode
  readonly last_used_at: Date | null
}

/** Whose key it is, as it was last read. */
interface Known {
  readonly principal: KeyPrincipal
  /** Rounds of renewal since it was last used. */
  idleRounds: number
}

/** API keys in Postgres or PGlite, with the answers of the last seconds in process. */
export const layer = (options: KeyStoreOptions): Layer.Layer<KeyStore, never, SqlClient.SqlClient | Ids> =>
  Layer.effect(
    KeyStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ids = yield* Ids
      const scope = yield* Effect.scope
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      let renewing = false

      // Made into a key once, which half of the work of a digest would otherwise be for.
      const pepper = createSecretKey(Redacted.value(options.pepper), "utf8")
      const digestOf = (secret: string): string => createHmac("sha256", pepper).update(secret).digest("base64")

      // Beside the request: a failure to write it down costs nothing but a stale date.
      const touch = (keyId: string, now: number) =>
        sql`
          update api_keys set last_used_at = ${new Date(now)}
          where id = ${keyId} and (last_used_at is null or last_used_at <= ${new Date(now - lastUsedStepMs)})
        `.pipe(
          Effect.catchCause((cause) => Effect.logDebug("A key's last use could not be written down.", cause)),
          Effect.forkIn(scope)
        )

      const read = yield* makeGroupCommit<string, PrincipalRow | null>({
        name: "api_keys",
        ownerOf: (digest) => digest,
        maxBatch: maxReadTogether,
        maxPerOwner: 1,
        run: Effect.fnUntraced(function* (digests) {
          const rows = yield* sql<PrincipalRow>`
            select a.*, k.id as key_id, k.label, k.mode, k.last_used_at, k.digest
            from api_keys k join accounts a on a.id = k.account_id
            where k.digest = any (${digests.map((digest) => Buffer.from(digest, "base64"))}::bytea[])
              and k.revoked_at is null and a.deleted_at is null`
          const byDigest = new Map(rows.map((row) => [Buffer.from(row.digest).toString("base64"), row]))
          return digests.map((digest) => byDigest.get(digest) ?? null)
        })
      })

      const noteUse = Effect.fnUntraced(function* ({ key_id, last_used_at }: PrincipalRow) {
        const now = yield* Clock.currentTimeMillis
        if (last_used_at === null || last_used_at.getTime() <= now - lastUsedStepMs) yield* touch(key_id, now)
      })

      const lookup = Effect.fnUntraced(function* (digest: string): Effect.fn.Return<Known, Unauthorized> {
        const row = yield* read(digest)
        if (row === null) return yield* unauthorized
        yield* noteUse(row)
        return { principal: toPrincipal(row), idleRounds: 0 }
      })

      // Answers are kept, refusals too, but not the failure to get one.
      const answers = yield* Cache.makeWith(lookup, {
        capacity: maxCachedDigests,
        timeToLive: (exit) => (Exit.isSuccess(exit) || !Exit.hasDies(exit) ? maxAge : Duration.zero)
      })

      const renew = Effect.fnUntraced(function* (digest: string, known: Known) {
        const used = known.idleRounds++ === 0
        const row = yield* read(digest)
        // What this process has forgotten meanwhile is not known again by an answer from before.
        if (Option.getOrUndefined(yield* Cache.getSuccess(answers, digest)) !== known) return
        if (row === null) return yield* Cache.invalidate(answers, digest)
        if (used) yield* noteUse(row)
        yield* Cache.set(answers, digest, { principal: toPrincipal(row), idleRounds: known.idleRounds })
      })

      /** Runs for as long as keys are used. */
      const renewal = Effect.gen(function* () {
        while (true) {
          yield* Effect.sleep(renewEvery)
          const entries = Array.from(yield* Cache.entries(answers))
          const inUse = entries.filter(([, known]) => known.idleRounds < maxIdleRounds)
          renewing = inUse.length > 0
          if (!renewing) return
          // What cannot be read now grows old, and is then waited for.
          yield* Effect.forEach(inUse, ([digest, known]) => Effect.ignoreCause(renew(digest, known)), {
            concurrency: maxReadTogether,
            discard: true
          })
        }
      })

      const principalOf = Effect.fnUntraced(function* (digest: string) {
        const found = yield* Cache.get(answers, digest)
        found.idleRounds = 0
        if (!renewing) {
          renewing = true
          // In the context of no request: whose key came first is chance.
          Fiber.runIn(fork(renewal), scope)
        }
        return found.principal
      })

      const issue = Effect.fnUntraced(function* (accountId: string, label: string, mode: KeyMode) {
        const secret = makeSecret(mode, yield* ids.entropy(32))
        const now = new Date(yield* Clock.currentTimeMillis)
        const [key] = yield* sql<KeyRow>`
          insert into api_keys (id, account_id, label, mode, digest, hint, created_at)
          select ${yield* ids.make("key_")}, id, ${label}, ${mode}, ${Buffer.from(digestOf(secret), "base64")}, ${secretHint(secret)}, ${now}
          from accounts where id = ${accountId} and deleted_at is null
          returning *`
        if (key === undefined) return yield* noSuchAccount(accountId)
        return { key: toApiKey(key), secret: Redacted.make(secret) }
      })

      /** The account's row is the turnstile: creations pass one by one, each seeing the keys of those before it. */
      const countActive = Effect.fnUntraced(function* (accountId: string) {
        yield* sql`select from accounts where id = ${accountId} for no key update`
        const [row] = yield* sql<{ readonly active: number }>`
          select count(*)::int as active from api_keys where account_id = ${accountId} and revoked_at is null`
        return row?.active ?? 0
      })

      const create = Effect.fn("KeyStore.create")(
        function* (accountId: string, { label, mode }: { readonly label: string; readonly mode: KeyMode }) {
          if ((yield* countActive(accountId)) >= maxActiveKeys) return yield* tooManyKeys
          return yield* issue(accountId, label, mode)
        },
        sql.withTransaction,
        Effect.catchTag("SqlError", Effect.die)
      )

      // This process need not wait for the answer to age.
      const forget = (key: KeyRow) => Cache.invalidate(answers, Buffer.from(key.digest).toString("base64"))

      /** Ends a key, whoever's it is where no account is named. */
      const end = Effect.fnUntraced(function* (id: string, accountId: string | undefined) {
        const now = new Date(yield* Clock.currentTimeMillis)
        // A path holds any text, and Postgres refuses what it cannot carry: no key has such an id.
        const rows = isCarriable(id)
          ? yield* sql<KeyRow>`
              update api_keys set revoked_at = ${now}
              where id = ${id} and revoked_at is null
                ${accountId === undefined ? sql`` : sql`and account_id = ${accountId}`}
              returning *`
          : []
        const [row] = rows
        if (row !== undefined) return row
        return yield* accountId === undefined ? noActiveKey(id) : noSuchKey
      })

      const revoke = Effect.fn("KeyStore.revoke")(
        function* (id: string, accountId: string | undefined) {
          const key = yield* end(id, accountId)
          yield* forget(key)
          return toApiKey(key)
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      const rotate = Effect.fn("KeyStore.rotate")(
        function* (id: string, accountId: string | undefined) {
          const [old, issued] = yield* sql.withTransaction(
            Effect.flatMap(end(id, accountId), (key) =>
              Effect.map(issue(key.account_id, key.label, key.mode), (issued) => [key, issued] as const)
            )
          )
          yield* forget(old)
          return issued
        },
        Effect.catchTag("SqlError", Effect.die)
      )

      return KeyStore.of({
        authenticate: (secret) => {
          const text = Redacted.value(secret)
          return isSecret(text) ? principalOf(digestOf(text)) : Effect.fail(unauthorized)
        },
        create,
        list: Effect.fn("KeyStore.list")(function* (accountId) {
          const rows = yield* retryTransient(
            sql<KeyRow>`
              select * from api_keys where account_id = ${accountId} and (
                revoked_at is null or id in (
                  select id from api_keys where account_id = ${accountId} and revoked_at is not null
                  order by revoked_at desc, id limit ${maxRevokedListed}
                )
              )
              order by created_at desc, id`
          )
          return rows.map(toApiKey)
        }, Effect.orDie),
        revoke: (id) => revoke(id, undefined),
        rotate: (id) => rotate(id, undefined),
        revokeOwn: (accountId, id) => revoke(id, accountId),
        rotateOwn: (accountId, id) => rotate(id, accountId)
      })
    })
  )

const toPrincipal = (row: PrincipalRow): KeyPrincipal => ({
  _tag: "key",
  account: toAccount(row),
  key: { id: row.key_id, label: row.label, mode: row.mode }
})

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
