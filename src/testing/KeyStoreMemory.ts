import { Clock, Effect, Layer, Redacted } from "effect"
import { type KeyPrincipal, type PrincipalBounds, withMember } from "../domain/accounts/Principal.ts"
import { unauthorized } from "../domain/errors.ts"
import { type ApiKey, isSecret, makeSecret, secretHint } from "../domain/keys/ApiKey.ts"
import { type BoundsChange, changeBounds, readNetworks, unbounded } from "../domain/keys/KeyBounds.ts"
import { Ids } from "../services/Ids.ts"
import {
  KeyStore,
  lastUsedStepMs,
  maxActiveKeys,
  maxGraces,
  maxRevokedListed,
  type NewKeyOptions,
  noActiveKey,
  noSuchKey,
  requireFuture,
  tooManyGraces,
  tooManyKeys
} from "../services/keys/KeyStore.ts"
import { noticeNewKey, noticeRevokedKey } from "./events.ts"
import {
  atNow,
  boundsOfMember,
  findAccount,
  MemoryStore,
  type Store,
  type StoredKey,
  spendingOf
} from "./MemoryStore.ts"

interface Deps {
  readonly store: Store
  readonly ids: Ids["Service"]
}

const isActive = ({ revokedAt }: StoredKey, now: number): boolean => revokedAt === undefined || revokedAt > now

const toApiKey = (store: Store, { originId, ...key }: StoredKey, now: number): ApiKey => {
  const bounds = store.bounds.get(originId) ?? unbounded
  return { ...key, bounds, spending: spendingOf(store, originId, bounds, now) }
}

const list = (store: Store, accountId: string, now: number): ReadonlyArray<ApiKey> => {
  const own = [...store.keys.values()].filter((key) => key.accountId === accountId)
  const revoked = own.filter((key) => !isActive(key, now)).sort((a, b) => (b.revokedAt ?? 0) - (a.revokedAt ?? 0))
  return [...own.filter((key) => isActive(key, now)), ...revoked.slice(0, maxRevokedListed)]
    .sort((a, b) => b.createdAt - a.createdAt)
    .map((key) => toApiKey(store, key, now))
}

const listAll = (store: Store, after: string | undefined, limit: number, now: number): ReadonlyArray<ApiKey> => {
  const newestFirst = (a: StoredKey, b: StoredKey) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
  const all = [...store.keys.values()].sort(newestFirst)
  const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
  const page = after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
  return page.map((key) => toApiKey(store, key, now))
}

const end = (store: Store, revokedAt: number, isMeant: (key: StoredKey) => boolean): ReadonlyArray<StoredKey> => {
  const revoked = [...store.keys]
    .filter(([, key]) => isMeant(key))
    .map(([secret, key]) => [secret, { ...key, revokedAt }] as const)
  for (const [secret, key] of revoked) store.keys.set(secret, key)
  return revoked.map(([, key]) => key)
}

const find = (store: Store, id: string, accountId: string | undefined, is: (key: StoredKey) => boolean) => {
  const named = [...store.keys.values()].find((key) => key.id === id)
  const isOwn = named !== undefined && (accountId === undefined || named.accountId === accountId)
  if (isOwn && is(named)) return Effect.succeed(named)
  return Effect.fail(accountId === undefined ? noActiveKey(id) : noSuchKey)
}

const isUnrevoked = ({ revokedAt }: StoredKey): boolean => revokedAt === undefined

const revoke = Effect.fnUntraced(function* ({ store }: Deps, id: string, accountId: string | undefined) {
  const now = yield* Clock.currentTimeMillis
  const key = yield* find(store, id, accountId, (found) => isActive(found, now))
  const isMeant = (other: StoredKey) =>
    other.id === id || (isUnrevoked(key) && other.originId === key.originId && isActive(other, now))
  end(store, now, isMeant)
  if (isUnrevoked(key)) noticeRevokedKey(store, key, now)
  return toApiKey(store, { ...key, revokedAt: now }, now)
})

interface Issue extends NewKeyOptions {
  readonly accountId: string
  readonly originId: string | undefined
  readonly previousId: string | undefined
}

const issue = Effect.fnUntraced(function* (
  { ids, store }: Deps,
  { accountId, bounds, createdBy, label, mode, originId, previousId }: Issue
) {
  yield* findAccount(store, accountId)
  const secret = makeSecret(mode, yield* ids.entropy(32))
  const id = yield* ids.make("key_")
  const createdAt = yield* Clock.currentTimeMillis
  const key: StoredKey = {
    id,
    accountId,
    label,
    mode,
    hint: secretHint(secret),
    createdAt,
    createdBy,
    lastUsedAt: undefined,
    revokedAt: undefined,
    originId: originId ?? id
  }
  store.keys.set(secret, key)
  noticeNewKey(store, key, previousId, createdAt)
  if (bounds !== undefined) store.bounds.set(key.originId, changeBounds(unbounded, bounds))
  return { key: toApiKey(store, key, createdAt), secret: Redacted.make(secret) }
})

const create = Effect.fnUntraced(function* (deps: Deps, accountId: string, options: NewKeyOptions) {
  yield* requireFuture(options.bounds, yield* Clock.currentTimeMillis)
  const active = [...deps.store.keys.values()].filter((key) => key.accountId === accountId && isUnrevoked(key))
  if (active.length >= maxActiveKeys) return yield* tooManyKeys
  return yield* issue(deps, { ...options, accountId, originId: undefined, previousId: undefined })
})

const rotate = Effect.fnUntraced(function* (
  deps: Deps,
  id: string,
  accountId: string | undefined,
  graceSeconds: number
) {
  const { store } = deps
  const now = yield* Clock.currentTimeMillis
  const key = yield* find(store, id, accountId, isUnrevoked)
  const graces =
    [...store.keys.values()].filter((other) => other.originId === key.originId && isActive(other, now)).length - 1
  if (graceSeconds > 0 && graces >= maxGraces) return yield* tooManyGraces
  end(store, now + graceSeconds * 1000, (other) => other.id === id)
  const { accountId: owner, createdBy, label, mode, originId } = key
  return yield* issue(deps, { accountId: owner, createdBy, label, mode, originId, previousId: id })
})

const bind = Effect.fnUntraced(function* (
  { store }: Deps,
  id: string,
  accountId: string | undefined,
  change: BoundsChange
) {
  const now = yield* Clock.currentTimeMillis
  yield* requireFuture(change, now)
  const key = yield* find(store, id, accountId, isUnrevoked)
  store.bounds.set(key.originId, changeBounds(store.bounds.get(key.originId) ?? unbounded, change))
  return toApiKey(store, key, now)
})

const revokeAll = Effect.fnUntraced(function* ({ store }: Deps, accountId: string) {
  const now = yield* Clock.currentTimeMillis
  const unrevoked = [...store.keys.values()].filter((key) => key.accountId === accountId && isUnrevoked(key))
  const revoked = end(store, now, (key) => key.accountId === accountId && isActive(key, now))
  for (const key of unrevoked) noticeRevokedKey(store, key, now)
  return revoked.map((key) => toApiKey(store, key, now))
})

const principalBounds = (store: Store, { accountId, createdBy, originId }: StoredKey): { bounds?: PrincipalBounds } => {
  const { budget, networks, targets } = store.bounds.get(originId) ?? unbounded
  const budgets = budget && { own: originId }
  const isUnbounded = budget === undefined && networks === undefined && targets === undefined
  const own = isUnbounded ? undefined : { budgets, targets, networks: networks && readNetworks(networks) }
  const bounds = withMember(own, createdBy === undefined ? undefined : boundsOfMember(store, accountId, createdBy))
  return bounds === undefined ? {} : { bounds }
}

const authenticate = Effect.fnUntraced(function* ({ store }: Deps, secret: Redacted.Redacted) {
  const text = Redacted.value(secret)
  const now = yield* Clock.currentTimeMillis
  const key = isSecret(text) ? store.keys.get(text) : undefined
  const stored = key === undefined ? undefined : store.accounts.get(key.accountId)
  if (key === undefined || stored === undefined || !isActive(key, now)) return yield* unauthorized
  const expiresAt = store.bounds.get(key.originId)?.expiresAt
  if (expiresAt !== undefined && expiresAt <= now) return yield* unauthorized
  if (key.lastUsedAt === undefined || key.lastUsedAt <= now - lastUsedStepMs) {
    store.keys.set(text, { ...key, lastUsedAt: now })
  }
  const { id, label, mode } = key
  const principal: KeyPrincipal = {
    _tag: "key",
    account: stored.account,
    ...(key.createdBy === undefined ? {} : { personId: key.createdBy }),
    key: { id, label, mode, ...principalBounds(store, key) }
  }
  return principal
})

export const layer: Layer.Layer<KeyStore, never, MemoryStore | Ids> = Layer.effect(
  KeyStore,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const deps: Deps = { store, ids: yield* Ids }
    return KeyStore.of({
      authenticate: (secret) => authenticate(deps, secret),
      create: (accountId, options) => create(deps, accountId, options),
      list: (accountId) => atNow((now) => list(store, accountId, now)),
      listAll: ({ after, limit }) => atNow((now) => listAll(store, after, limit, now)),
      revokeAll: (accountId) => revokeAll(deps, accountId),
      revoke: (id) => revoke(deps, id, undefined),
      rotate: (id, graceSeconds = 0) => rotate(deps, id, undefined, graceSeconds),
      bind: (id, change) => bind(deps, id, undefined, change),
      revokeOwn: (accountId, id) => revoke(deps, id, accountId),
      rotateOwn: (accountId, id, graceSeconds = 0) => rotate(deps, id, accountId, graceSeconds),
      bindOwn: (accountId, id, change) => bind(deps, id, accountId, change)
    })
  })
)
