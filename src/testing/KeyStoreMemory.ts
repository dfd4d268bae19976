import { Clock, Effect, Layer, Redacted } from "effect"
import { type ApiKey, isSecret, type KeyMode, makeSecret, secretHint } from "../domain/ApiKey.ts"
import { type NotFound, unauthorized } from "../domain/errors.ts"
import { noSuchAccount } from "../services/Accounts.ts"
import { Ids } from "../services/Ids.ts"
import {
  KeyStore,
  lastUsedStepMs,
  maxActiveKeys,
  maxRevokedListed,
  noActiveKey,
  noSuchKey,
  tooManyKeys
} from "../services/KeyStore.ts"
import { MemoryStore } from "./MemoryStore.ts"

/** Active keys and the last revoked ones, newest first. */
const list = (store: MemoryStore["Service"], accountId: string): ReadonlyArray<ApiKey> => {
  const own = [...store.keys.values()].filter((key) => key.accountId === accountId)
  const revoked = own
    .filter((key) => key.revokedAt !== undefined)
    .sort((a, b) => (b.revokedAt ?? 0) - (a.revokedAt ?? 0))
  return [...own.filter((key) => key.revokedAt === undefined), ...revoked.slice(0, maxRevokedListed)].sort(
    (a, b) => b.createdAt - a.createdAt
  )
}

const listAll = (store: MemoryStore["Service"], after: string | undefined, limit: number): ReadonlyArray<ApiKey> => {
  const newestFirst = (a: ApiKey, b: ApiKey) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
  const all = [...store.keys.values()].sort(newestFirst)
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
  return after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
}

const revokeAll = Effect.fnUntraced(function* (store: MemoryStore["Service"], accountId: string) {
  const revokedAt = yield* Clock.currentTimeMillis
  const active = [...store.keys].filter(([, key]) => key.accountId === accountId && key.revokedAt === undefined)
  const revoked = active.map(([secret, key]) => [secret, { ...key, revokedAt }] as const)
  for (const [secret, key] of revoked) store.keys.set(secret, key)
  return revoked.map(([, key]) => key)
})

/** API keys without a database, and without answers kept from before. */
export const layer: Layer.Layer<KeyStore, never, MemoryStore | Ids> = Layer.effect(
  KeyStore,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const ids = yield* Ids

    const issue = Effect.fnUntraced(function* (accountId: string, label: string, mode: KeyMode) {
      if (!store.accounts.has(accountId)) {
        return yield* noSuchAccount(accountId)
      }
      const secret = makeSecret(mode, yield* ids.entropy(32))
      const key: ApiKey = {
        id: yield* ids.make("key_"),
        accountId,
        label,
        mode,
        hint: secretHint(secret),
        createdAt: yield* Clock.currentTimeMillis,
        lastUsedAt: undefined,
        revokedAt: undefined
      }
      store.keys.set(secret, key)
      return { key, secret: Redacted.make(secret) }
    })

    const revoke = Effect.fnUntraced(function* (id: string, missing: NotFound, accountId?: string) {
      const now = yield* Clock.currentTimeMillis
      for (const [secret, key] of store.keys) {
        if (key.id !== id || key.revokedAt !== undefined) continue
        if (accountId !== undefined && key.accountId !== accountId) continue
        const revoked = { ...key, revokedAt: now }
        store.keys.set(secret, revoked)
        return revoked
      }
      return yield* missing
    })

    /** One synchronous step after the other: nobody else is between the end of the old key and the new one. */
    const replace = ({ accountId, label, mode }: ApiKey) => issue(accountId, label, mode)

    return KeyStore.of({
      authenticate: Effect.fnUntraced(function* (secret) {
        const text = Redacted.value(secret)
        const key = isSecret(text) ? store.keys.get(text) : undefined
        const stored = key === undefined ? undefined : store.accounts.get(key.accountId)
        if (key === undefined || stored === undefined || key.revokedAt !== undefined) return yield* unauthorized
        const now = yield* Clock.currentTimeMillis
        if (key.lastUsedAt === undefined || key.lastUsedAt <= now - lastUsedStepMs) {
          store.keys.set(text, { ...key, lastUsedAt: now })
        }
        return { _tag: "key", account: stored.account, key: { id: key.id, label: key.label, mode: key.mode } }
      }),
      create: Effect.fnUntraced(function* (accountId, { label, mode }) {
        const active = [...store.keys.values()].filter(
          (key) => key.accountId === accountId && key.revokedAt === undefined
        )
        if (active.length >= maxActiveKeys) return yield* tooManyKeys
        return yield* issue(accountId, label, mode)
      }),
      list: (accountId) => Effect.sync(() => list(store, accountId)),
      listAll: (page) => Effect.sync(() => listAll(store, page.after, page.limit)),
      revokeAll: (accountId) => revokeAll(store, accountId),
      revoke: (id) => revoke(id, noActiveKey(id)),
      rotate: (id) => Effect.flatMap(revoke(id, noActiveKey(id)), replace),
      revokeOwn: (accountId, id) => revoke(id, noSuchKey, accountId),
      rotateOwn: (accountId, id) => Effect.flatMap(revoke(id, noSuchKey, accountId), replace)
    })
  })
)
