import { Clock, Effect, Layer } from "effect"
import type { Account } from "../domain/accounts/Account.ts"
import { normalizeEmail } from "../domain/accounts/emailAddress.ts"
import type { PlanTable } from "../domain/credits/Plan.ts"
import { type ApiKey, hintPrefix, isKey } from "../domain/keys/ApiKey.ts"
import {
  AccountError,
  type AccountQuery,
  Accounts,
  noSuchAccount,
  type PlanChoice,
  requireTrialAddress,
  termsOf
} from "../services/accounts/Accounts.ts"
import { Plans } from "../services/credits/Plans.ts"
import { Ids } from "../services/Ids.ts"
import { dropPending, noticePeriod, noticePlan } from "./events.ts"
import { enterPeriod, findAccount, MemoryStore, type Store, type StoredAllowance } from "./MemoryStore.ts"

const leaveProvider = ({ billing }: Store, accountId: string, dueAt: number): void => {
  const billed = billing.accounts.get(accountId)
  if (billed?.customerId === undefined) return
  const { customerId } = billed
  billing.removals.set(customerId, { removal: { customerId, accountId, attempts: 0 }, dueAt })
  billed.customerId = undefined
}

const removeEvents = ({ events }: Store, accountId: string): void => {
  events.settings.delete(accountId)
  for (const [id, { endpoint }] of events.endpoints) if (endpoint.accountId === accountId) events.endpoints.delete(id)
  events.deliveries = events.deliveries.filter(({ event }) => event.accountId !== accountId)
}

const remove = Effect.fnUntraced(function* (store: Store, id: string) {
  yield* findAccount(store, id)
  const now = yield* Clock.currentTimeMillis
  store.accounts.delete(id)
  removeEvents(store, id)
  leaveProvider(store, id, now)
  for (const [user, account] of store.subscribers) if (account === id) store.subscribers.delete(user)
  for (const [secret, key] of store.keys) {
    if (key.accountId !== id) continue
    store.keys.set(secret, { ...key, label: "", hint: "", revokedAt: Math.min(key.revokedAt ?? now, now) })
    store.bounds.delete(key.originId)
  }
})

const setSuspended = Effect.fnUntraced(function* (store: Store, id: string, isSuspended: boolean) {
  const stored = yield* findAccount(store, id)
  const now = yield* Clock.currentTimeMillis
  const suspendedAt = isSuspended ? (stored.account.suspendedAt ?? now) : undefined
  stored.account = { ...stored.account, suspendedAt }
  if (isSuspended) dropPending(store, "suspended", ({ event }) => event.accountId === id)
  return stored.account
})

const setEmail = Effect.fnUntraced(function* (store: Store, id: string, email: string) {
  const stored = yield* findAccount(store, id)
  if ([...store.subscribers.values()].includes(id)) return yield* AccountError.subscriberAddress
  const address = normalizeEmail(email)
  const isTaken = [...store.accounts.values()].some(({ account }) => account.email === address && account.id !== id)
  if (isTaken && address !== "") return yield* AccountError.taken(address)
  yield* requireTrialAddress(stored.account.plan, address)
  stored.account = { ...stored.account, email: address }
  const now = yield* Clock.currentTimeMillis
  if (stored.account.plan === "trial") stored.allowance = enterPeriod(store, stored.account, now)
  return stored.account
})

const setPlan = Effect.fnUntraced(function* (store: Store, plans: PlanTable, id: string, choice: PlanChoice) {
  const { agreed, concurrency, quota } = yield* termsOf(choice, plans)
  const stored = yield* findAccount(store, id)
  if ([...store.subscribers.values()].includes(id)) return yield* AccountError.subscriber
  yield* requireTrialAddress(choice.plan, stored.account.email)
  const { plan } = choice
  const cycleStart = plan === "trial" ? undefined : (choice.cycleStart ?? stored.account.cycleStart)
  const now = yield* Clock.currentTimeMillis
  const { agreedConcurrency: _, agreedQuota: __, next: ___, packRate: ____, ...kept } = stored.account
  const { plan: planBefore } = kept
  const rate = choice.packRate === undefined ? {} : { packRate: choice.packRate }
  stored.account = { ...kept, plan, quota, concurrency, cycleStart, ...agreed, ...rate }
  const before = stored.allowance
  stored.allowance = enterPeriod(store, stored.account, now, { quota, own: choice.quota })
  noticePlan(store, stored, planBefore, now)
  if (stored.allowance !== before) noticePeriod(store, stored, before, now)
  return stored.account
})

const list = (store: Store, query: AccountQuery): ReadonlyArray<Account> => {
  const users = new Map([...store.subscribers].map(([user, id]) => [id, user]))
  const { text: given = "" } = query
  const text = given.toLowerCase()
  const isKeyMatch = ({ hint, id, label }: Pick<ApiKey, "hint" | "id" | "label">) =>
    isKey(given) ? hint.startsWith(hintPrefix(given)) : label.toLowerCase().startsWith(text) || id === text
  const withKey = new Set([...store.keys.values()].filter(isKeyMatch).map(({ accountId }) => accountId))
  const matches = (account: Account) =>
    (withKey.has(account.id) ||
      (!isKey(given) &&
        (account.email.includes(text) ||
          (users.get(account.id) ?? "").toLowerCase().includes(text) ||
          account.id.startsWith(text))) ||
      text === "") &&
    (query.plan ?? account.plan) === account.plan &&
    (query.suspended === undefined || query.suspended === (account.suspendedAt !== undefined))
  const newestFirst = (a: Account, b: Account) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
  const all = [...store.accounts.values()].map(({ account }) => account).sort(newestFirst)
  const last = query.after === undefined ? undefined : store.accounts.get(query.after)?.account
  if (query.after !== undefined && last === undefined) return []
  const page = last === undefined ? all : all.filter((account) => newestFirst(last, account) < 0)
  return page.filter(matches).slice(0, query.limit)
}

const byEmail = (store: Store, address: string) =>
  [...store.accounts.values()].find(({ account }) => address !== "" && account.email === address)

const add = (store: Store, account: Account, allowance: StoredAllowance): Account => {
  store.accounts.set(account.id, { account, allowance, balance: 0, owed: 0, grantCount: 0 })
  return account
}

const create = Effect.fnUntraced(function* (
  store: Store,
  ids: Ids["Service"],
  plans: PlanTable,
  choice: PlanChoice & { readonly email: string }
) {
  const { agreed, concurrency, quota } = yield* termsOf(choice, plans)
  const email = normalizeEmail(choice.email)
  yield* requireTrialAddress(choice.plan, email)
  const id = yield* ids.make("acc_")
  const now = yield* Clock.currentTimeMillis
  if (byEmail(store, email) !== undefined) return yield* AccountError.taken(email)
  const { cycleStart, plan } = choice
  const account: Account = {
    id,
    email,
    plan,
    quota,
    concurrency,
    cycleStart,
    createdAt: now,
    suspendedAt: undefined,
    ...agreed,
    ...(choice.packRate === undefined ? {} : { packRate: choice.packRate })
  }
  return add(store, account, enterPeriod(store, account, now, { quota: choice.quota, own: choice.quota }))
})

export const layer: Layer.Layer<Accounts, never, MemoryStore | Ids | Plans> = Layer.effect(
  Accounts,
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const ids = yield* Ids
    const plans = yield* Plans

    return Accounts.of({
      create: (choice) => create(store, ids, plans, choice),
      byId: (id) => Effect.map(findAccount(store, id), ({ account }) => account),
      byEmail: Effect.fnUntraced(function* (email) {
        const address = normalizeEmail(email)
        return byEmail(store, address)?.account ?? (yield* noSuchAccount(address))
      }),
      setPlan: (id, choice) => setPlan(store, plans, id, choice),
      ofSubscriber: Effect.fnUntraced(function* (user, plan) {
        const { concurrency } = plans[plan]
        const made = yield* ids.make("acc_")
        const now = yield* Clock.currentTimeMillis
        const known = store.accounts.get(store.subscribers.get(user) ?? "")
        if (known !== undefined) {
          const { next: _, ...kept } = known.account
          if (kept.plan !== plan) known.account = { ...kept, plan, concurrency }
          return known.account
        }
        const account: Account = {
          id: made,
          email: "",
          plan,
          quota: undefined,
          concurrency,
          cycleStart: undefined,
          createdAt: now,
          suspendedAt: undefined
        }
        store.subscribers.set(user, account.id)
        return add(store, account, enterPeriod(store, account, now))
      }),
      setEmail: (id, email) => setEmail(store, id, email),
      suspend: (id) => setSuspended(store, id, true),
      resume: (id) => setSuspended(store, id, false),
      list: (query) => Effect.sync(() => list(store, query)),
      remove: (id) => remove(store, id)
    })
  })
)
