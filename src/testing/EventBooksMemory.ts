import { Clock, Effect, Layer, type Redacted } from "effect"
import { type Delivery, type Endpoint, maxFailingMs } from "../domain/Event.ts"
import {
  type Attempt,
  type AttemptEnd,
  type EndpointChange,
  EventBooks,
  endpointDisabled,
  maxEndpoints,
  type NewEndpoint,
  noSuchDelivery,
  noSuchEndpoint,
  type Receiver,
  type SettingsChange,
  stoppedError,
  type TakeLimits,
  type TakenDelivery,
  tooManyEndpoints
} from "../services/EventBooks.ts"
import { addDelivery, makeEvent, noticeExpiring, settingsOf } from "./events.ts"
import { MemoryStore, type StoredDelivery } from "./MemoryStore.ts"

type Store = MemoryStore["Service"]

const toDelivery = ({ dueAt, endpointId: _, isTaken: __, ...rest }: StoredDelivery): Delivery => ({
  ...rest,
  nextAttemptAt: rest.status === "pending" ? Math.max(dueAt, rest.createdAt) : undefined
})

/** The endpoint of the account, or `not_found`. */
const requireEndpoint = ({ events }: Store, accountId: string, id: string) =>
  Effect.suspend(() => {
    const stored = events.endpoints.get(id)
    return stored?.endpoint.accountId === accountId ? Effect.succeed(stored) : Effect.fail(noSuchEndpoint)
  })

const ownEndpoints = ({ events }: Store, accountId: string): ReadonlyArray<Endpoint> =>
  [...events.endpoints.values()].map(({ endpoint }) => endpoint).filter((it) => it.accountId === accountId)

const addEndpoint = Effect.fnUntraced(function* (store: Store, accountId: string, added: NewEndpoint) {
  const { id, secret, types, url } = added
  if (ownEndpoints(store, accountId).length >= maxEndpoints) return yield* tooManyEndpoints
  const createdAt = yield* Clock.currentTimeMillis
  const ended = { failingSince: undefined, disabledAt: undefined, disabledFor: undefined }
  const endpoint: Endpoint = { id, accountId, url, types, createdAt, ...ended }
  store.events.endpoints.set(id, { endpoint, secret, old: undefined })
  return endpoint
})

const endPending = ({ events }: Store, error: string, isOver: (delivery: StoredDelivery) => boolean): void => {
  for (const delivery of events.deliveries) {
    if (delivery.status !== "pending" || !isOver(delivery)) continue
    delivery.status = "failed"
    delivery.error = error
  }
}

const changeEndpoint = Effect.fnUntraced(function* (
  store: Store,
  accountId: string,
  id: string,
  { disabled, types, url }: EndpointChange
) {
  const stored = yield* requireEndpoint(store, accountId, id)
  const now = yield* Clock.currentTimeMillis
  const before = stored.endpoint
  stored.endpoint = { ...before, url: url ?? before.url, types: types ?? before.types }
  if (disabled === false) {
    stored.endpoint = { ...stored.endpoint, failingSince: undefined, disabledAt: undefined, disabledFor: undefined }
  } else if (disabled === true) {
    const { disabledAt = now, disabledFor = "account" } = before
    stored.endpoint = { ...stored.endpoint, disabledAt, disabledFor }
  } else if (url !== undefined) {
    stored.endpoint = { ...stored.endpoint, failingSince: undefined }
  }
  if (stored.endpoint.disabledAt !== undefined) {
    endPending(store, stoppedError.disabled, ({ endpointId }) => endpointId === id)
  }
  return stored.endpoint
})

const addTest = Effect.fnUntraced(function* (store: Store, accountId: string, id: string) {
  const { endpoint } = yield* requireEndpoint(store, accountId, id)
  if (endpoint.disabledAt !== undefined) return yield* endpointDisabled
  const now = yield* Clock.currentTimeMillis
  return toDelivery(addDelivery(store, makeEvent(store, accountId, "webhook.test", { webhook_id: id }, now), id, now))
})

const deliveries = Effect.fnUntraced(function* (
  store: Store,
  accountId: string,
  id: string,
  { after, limit }: { readonly after: string | undefined; readonly limit: number }
) {
  yield* requireEndpoint(store, accountId, id)
  const all = store.events.deliveries.filter(({ endpointId }) => endpointId === id).reverse()
  const start = after === undefined ? 0 : all.findIndex((it) => it.id === after) + 1
  const page = after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
  return { deliveries: page.map(toDelivery), next: start + limit < all.length ? page.at(-1)?.id : undefined }
})

const redeliver = Effect.fnUntraced(function* (store: Store, accountId: string, id: string, deliveryId: string) {
  const { endpoint } = yield* requireEndpoint(store, accountId, id)
  const known = store.events.deliveries.find((it) => it.id === deliveryId && it.endpointId === id)
  if (known === undefined) return yield* noSuchDelivery
  if (endpoint.disabledAt !== undefined) return yield* endpointDisabled
  return toDelivery(addDelivery(store, known.event, id, yield* Clock.currentTimeMillis))
})

const changeSettings = (store: Store, accountId: string, change: SettingsChange) => {
  const before = settingsOf(store, accountId)
  const settings = {
    lowPercents: change.lowPercents ?? before.lowPercents,
    lowBalance: change.lowBalance === undefined ? before.lowBalance : (change.lowBalance ?? undefined),
    emailTypes: change.emailTypes ?? before.emailTypes
  }
  store.events.settings.set(accountId, settings)
  endPending(
    store,
    stoppedError.emails,
    ({ endpointId, event }) =>
      endpointId === undefined &&
      event.accountId === accountId &&
      !settings.emailTypes.some((type) => type === event.type)
  )
  return settings
}

const receiverOf = (store: Store, { endpointId, event }: StoredDelivery, now: number): Receiver => {
  const stored = store.events.endpoints.get(endpointId ?? "")
  if (stored === undefined) {
    return { _tag: "email", address: store.accounts.get(event.accountId)?.account.email ?? "" }
  }
  const { endpoint, old, secret } = stored
  const secrets: ReadonlyArray<Redacted.Redacted> =
    old !== undefined && old.until > now ? [secret, old.secret] : [secret]
  return {
    _tag: "endpoint",
    id: endpoint.id,
    url: endpoint.url,
    secrets,
    isFailing: endpoint.failingSince !== undefined
  }
}

const take = (store: Store, limits: TakeLimits, leaseMs: number, now: number): ReadonlyArray<TakenDelivery> => {
  const room = { working: limits.working, failing: limits.failing }
  const pending = store.events.deliveries.filter(({ status }) => status === "pending")
  const taken: Array<TakenDelivery> = []
  for (const delivery of pending.toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))) {
    const receiver = receiverOf(store, delivery, now)
    const lane = receiver._tag === "endpoint" && receiver.isFailing ? "failing" : "working"
    const atOnce = pending.filter((it) => it.endpointId === delivery.endpointId && it.isTaken && it.dueAt > now)
    if (delivery.dueAt > now || room[lane] <= 0 || atOnce.length >= limits.perEndpoint) continue
    room[lane] -= 1
    delivery.isTaken = true
    delivery.attempts += 1
    delivery.dueAt = now + leaseMs
    taken.push({ id: delivery.id, event: delivery.event, attempts: delivery.attempts, receiver })
  }
  return taken
}

const finish = (store: Store, taken: TakenDelivery, attempt: Attempt, now: number): AttemptEnd => {
  const { failure } = attempt
  const delivery = store.events.deliveries.find(({ id }) => id === taken.id)
  if (delivery?.status !== "pending" || delivery.attempts !== taken.attempts) return "lost"
  const mayFollow = failure !== undefined && failure.waitMs !== undefined && !failure.isGone
  delivery.status = failure === undefined ? "delivered" : mayFollow ? "pending" : "failed"
  delivery.isTaken = false
  delivery.dueAt = now + (failure?.waitMs ?? 0)
  delivery.attemptedAt = now
  delivery.httpStatus = attempt.httpStatus
  delivery.error = failure?.error
  delivery.durationMs = attempt.durationMs
  const stored = store.events.endpoints.get(delivery.endpointId ?? "")
  if (failure === undefined) {
    if (stored !== undefined) stored.endpoint = { ...stored.endpoint, failingSince: undefined }
    return "delivered"
  }
  const ended = mayFollow ? "postponed" : "given_up"
  if (stored === undefined || stored.endpoint.disabledAt !== undefined) return ended
  const failingSince = stored.endpoint.failingSince ?? now
  stored.endpoint = { ...stored.endpoint, failingSince }
  if (!failure.isGone && failingSince > now - maxFailingMs) return ended
  stored.endpoint = { ...stored.endpoint, disabledAt: now, disabledFor: failure.isGone ? "gone" : "failing" }
  endPending(store, stoppedError.disabled, ({ endpointId }) => endpointId === delivery.endpointId)
  return "disabled"
}

const overdueAccounts = (store: Store, limit: number, now: number): ReadonlyArray<string> =>
  [...store.accounts.values()]
    .filter(({ account, allowance }) => {
      const isEnded = allowance.period !== undefined && allowance.period.end <= now
      const isListening =
        ownEndpoints(store, account.id).length > 0 || settingsOf(store, account.id).emailTypes.includes("quota.reset")
      return (account.next?.at ?? now + 1) <= now || (isEnded && isListening)
    })
    .map(({ account }) => account.id)
    .slice(0, limit)

const prune = ({ events }: Store, before: number): number => {
  const old = events.deliveries.filter(({ event }) => event.createdAt < before)
  events.deliveries = events.deliveries.filter(({ event }) => event.createdAt >= before)
  return old.length
}

const figures = ({ events }: Store, now: number) => {
  const pending = events.deliveries.filter(({ status }) => status === "pending")
  const due = pending.filter(({ dueAt, isTaken }) => !isTaken || dueAt <= now)
  const since = (moments: ReadonlyArray<number>) => Math.max(now - Math.min(now, ...moments), 0)
  return {
    pending: pending.length,
    oldestMs: since(pending.map(({ createdAt }) => createdAt)),
    overdueMs: since(due.map(({ createdAt, dueAt }) => Math.max(dueAt, createdAt)))
  }
}

/** Events without a database. */
export const layer: Layer.Layer<EventBooks, never, MemoryStore> = Layer.effect(
  EventBooks,
  Effect.map(MemoryStore, (store) => {
    const atNow = <A>(step: (now: number) => A) => Effect.map(Clock.currentTimeMillis, step)
    return EventBooks.of({
      endpoints: (accountId) => Effect.sync(() => ownEndpoints(store, accountId).toReversed()),
      addEndpoint: (accountId, endpoint) => addEndpoint(store, accountId, endpoint),
      changeEndpoint: (accountId, id, change) => changeEndpoint(store, accountId, id, change),
      removeEndpoint: (accountId, id) =>
        Effect.map(requireEndpoint(store, accountId, id), () => {
          store.events.endpoints.delete(id)
          store.events.deliveries = store.events.deliveries.filter(({ endpointId }) => endpointId !== id)
        }),
      replaceSecret: Effect.fnUntraced(function* (accountId, id, secret, graceMs) {
        const stored = yield* requireEndpoint(store, accountId, id)
        stored.old = { secret: stored.secret, until: (yield* Clock.currentTimeMillis) + graceMs }
        stored.secret = secret
        return stored.endpoint
      }),
      addTest: (accountId, id) => addTest(store, accountId, id),
      deliveries: (accountId, id, page) => deliveries(store, accountId, id, page),
      redeliver: (accountId, id, deliveryId) => redeliver(store, accountId, id, deliveryId),
      settings: (accountId) => Effect.sync(() => settingsOf(store, accountId)),
      changeSettings: (accountId, change) => Effect.sync(() => changeSettings(store, accountId, change)),
      setEmails: (isOn) =>
        Effect.sync(() => {
          store.events.hasEmails = isOn
        }),
      take: (limits, leaseMs) => atNow((now) => take(store, limits, leaseMs, now)),
      finish: (taken, attempt) => atNow((now) => finish(store, taken, attempt, now)),
      overdueAccounts: (limit) => atNow((now) => overdueAccounts(store, limit, now)),
      prune: (ageMs) => atNow((now) => prune(store, now - ageMs)),
      addExpiring: (withinMs) => atNow((now) => noticeExpiring(store, now, now + withinMs)),
      // Nothing is encrypted here.
      resealSecrets: () => Effect.succeed({ renewed: 0, unreadable: undefined }),
      figures: atNow((now) => figures(store, now))
    })
  })
)
