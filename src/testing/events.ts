import type { Schema } from "effect"
import { toMoment } from "../domain/requests/fields.ts"
import { type AnyEventType, defaultEventSettings, type EventSettings } from "../domain/webhooks/Event.ts"
import { type DropReason, droppedError, maxQueued } from "../services/webhooks/EventBooks.ts"
import type { Store, StoredAccount, StoredAllowance, StoredDelivery, StoredKey } from "./MemoryStore.ts"

export const settingsOf = (store: Store, accountId: string): EventSettings =>
  store.events.settings.get(accountId) ?? defaultEventSettings

const hex = (count: number): string => count.toString(16).padStart(32, "0")

export const addDelivery = (
  store: Store,
  event: StoredDelivery["event"],
  endpointId: string | undefined,
  now: number
): StoredDelivery => {
  const { events } = store
  const delivery: StoredDelivery = {
    id: `dlv_${hex(++events.count)}`,
    event,
    endpointId,
    status: "pending",
    dueAt: Number.NEGATIVE_INFINITY,
    isTaken: false,
    attempts: 0,
    attemptedAt: undefined,
    httpStatus: undefined,
    error: undefined,
    durationMs: undefined,
    createdAt: now
  }
  events.deliveries.push(delivery)
  return delivery
}

const noteDropped = (
  { events }: Store,
  reason: DropReason,
  { endpointId, event }: Pick<StoredDelivery, "endpointId" | "event">
) => events.dropped.push({ accountId: event.accountId, endpointId, reason, deliveries: 1 })

export const dropPending = (
  store: Store,
  reason: keyof typeof droppedError,
  isDropped: (delivery: StoredDelivery) => boolean
): number => {
  const dropped = store.events.deliveries.filter((delivery) => delivery.status === "pending" && isDropped(delivery))
  for (const delivery of dropped) {
    delivery.status = "failed"
    delivery.isTaken = false
    delivery.error = droppedError[reason]
    noteDropped(store, reason, delivery)
  }
  return dropped.length
}

export const pruneEvents = (store: Store, before: number): number => {
  const { events } = store
  const old = events.deliveries.filter(({ event }) => event.createdAt < before)
  for (const delivery of old) if (delivery.status === "pending") noteDropped(store, "expired", delivery)
  events.deliveries = events.deliveries.filter(({ event }) => event.createdAt >= before)
  return old.length
}

export const isQueueFull = ({ events }: Store, accountId: string, endpointId: string | undefined): boolean =>
  events.deliveries.filter(
    ({ endpointId: id, event, status }) => status === "pending" && event.accountId === accountId && id === endpointId
  ).length >= maxQueued

export const makeEvent = (
  store: Store,
  accountId: string,
  type: AnyEventType,
  data: Schema.JsonObject,
  now: number
): StoredDelivery["event"] => ({ id: `evt_${hex(++store.events.count)}`, accountId, type, data, createdAt: now })

/** Adds an event and its deliveries, unless nobody receives it or its cause already has an event. */
export const addEvent = (
  store: Store,
  accountId: string,
  type: AnyEventType,
  cause: string,
  data: Schema.JsonObject,
  now: number
): void => {
  const { events } = store
  const stored = store.accounts.get(accountId)
  const receivers: Array<string | undefined> = [...events.endpoints.values()]
    .filter(({ endpoint }) => endpoint.accountId === accountId && endpoint.disabledAt === undefined)
    .filter(({ endpoint }) => endpoint.types.length === 0 || endpoint.types.some((chosen) => chosen === type))
    .map(({ endpoint }) => endpoint.id)
  const isMailed = settingsOf(store, accountId).emailTypes.some((chosen) => chosen === type)
  if (events.hasEmails && isMailed && stored !== undefined && stored.account.email !== "") receivers.push(undefined)
  if (receivers.length === 0 || events.causes.has(cause)) return
  events.causes.add(cause)
  const event = makeEvent(store, accountId, type, data, now)
  for (const endpointId of receivers) {
    if (isQueueFull(store, accountId, endpointId)) noteDropped(store, "too_many", { endpointId, event })
    else addDelivery(store, event, endpointId, now)
  }
}

const resetsAt = ({ period }: StoredAllowance): string | null => (period === undefined ? null : toMoment(period.end))

const figures = ({ account, allowance, balance }: StoredAccount) => ({
  plan: account.plan,
  quota: allowance.quota ?? null,
  used: allowance.used,
  remaining: (allowance.quota ?? 0) - allowance.used,
  balance,
  resets_at: resetsAt(allowance)
})

const scopeOf = ({ period, quota, scope }: StoredAllowance): string => `${scope}:${period?.start}:${quota}`

export const noticeUse = (
  store: Store,
  stored: StoredAccount,
  before: { readonly used: number; readonly balance: number },
  now: number
): void => {
  const { account, allowance, balance, grantCount } = stored
  const { quota, used } = allowance
  const { lowBalance, lowPercents } = settingsOf(store, account.id)
  const add = (type: "credits.low" | "credits.exhausted", cause: string, data: Schema.JsonObject) =>
    addEvent(store, account.id, type, `${type}:${cause}`, { ...data, ...figures(stored) }, now)
  for (const percent of quota === undefined ? [] : lowPercents) {
    const mark = Math.ceil(((quota ?? 0) * percent) / 100)
    if (before.used < mark && used >= mark) {
      add("credits.low", `${scopeOf(allowance)}:${mark}`, { source: "quota", threshold_percent: percent })
    }
  }
  if (lowBalance !== undefined && before.balance >= lowBalance && balance < lowBalance) {
    add("credits.low", `balance:${account.id}:${grantCount}:${lowBalance}`, {
      source: "balance",
      threshold_credits: lowBalance
    })
  }
  const isChanged = used > before.used || balance < before.balance
  if (isChanged && quota !== undefined && used >= quota && balance === 0) {
    add("credits.exhausted", `${scopeOf(allowance)}:${grantCount}`, {})
  }
}

export const noticePeriod = (store: Store, stored: StoredAccount, before: StoredAllowance, now: number): void => {
  const { account, allowance } = stored
  const { period } = allowance
  if (period === undefined || before.period === undefined || before.period.end > period.start) return
  const data = {
    plan: account.plan,
    quota: allowance.quota ?? null,
    used: allowance.used,
    period_start: toMoment(period.start),
    resets_at: resetsAt(allowance)
  }
  addEvent(store, account.id, "quota.reset", `quota.reset:${account.id}:${period.start}`, data, now)
}

export const noticePlan = (store: Store, { account }: StoredAccount, previousPlan: string, now: number): void => {
  if (account.plan === previousPlan) return
  const data = { plan: account.plan, previous_plan: previousPlan }
  addEvent(store, account.id, "plan.changed", `plan.changed:${++store.events.count}`, data, now)
}

const keyData = ({ hint, id, label, mode }: StoredKey) => ({ key_id: id, name: label, type: mode, hint })

export const noticeNewKey = (store: Store, key: StoredKey, previousId: string | undefined, now: number): void => {
  const type = previousId === undefined ? "key.created" : "key.rotated"
  const data = { ...keyData(key), ...(previousId === undefined ? {} : { previous_key_id: previousId }) }
  addEvent(store, key.accountId, type, `${type}:${key.id}`, data, now)
}

export const noticeRevokedKey = (store: Store, key: StoredKey, now: number): void =>
  addEvent(store, key.accountId, "key.revoked", `key.revoked:${key.id}`, keyData(key), now)

export const noticeExpiring = (store: Store, now: number, horizon: number): void => {
  for (const key of store.keys.values()) {
    const expiresAt = store.bounds.get(key.originId)?.expiresAt
    if (key.revokedAt !== undefined || expiresAt === undefined || expiresAt <= now || expiresAt > horizon) continue
    const data = { ...keyData(key), expires_at: toMoment(expiresAt) }
    addEvent(store, key.accountId, "key.expiring", `key.expiring:${key.originId}:${expiresAt}`, data, now)
  }
}
