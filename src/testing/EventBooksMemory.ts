import { Clock, Effect, Layer, type Redacted } from "effect"
import { type SlotLimits, shareSlots } from "../domain/webhooks/DeliverySlots.ts"
import { type Delivery, type Endpoint, maxFailingMs } from "../domain/webhooks/Event.ts"
import {
  type AccountQueues,
  type Attempt,
  type AttemptEnd,
  addressChanged,
  type EndpointChange,
  EventBooks,
  endpointDisabled,
  maxEndpoints,
  type NewEndpoint,
  noSuchDelivery,
  noSuchEndpoint,
  queueFull,
  type Receiver,
  type SettingsChange,
  stoppedError,
  type TakenDelivery,
  tooManyEndpoints
} from "../services/webhooks/EventBooks.ts"
import { addDelivery, dropPending, isQueueFull, makeEvent, noticeExpiring, pruneEvents, settingsOf } from "./events.ts"
import { atNow, MemoryStore, type Store, type StoredDelivery } from "./MemoryStore.ts"

const toDelivery = ({ dueAt, endpointId: _, isTaken: __, ...rest }: StoredDelivery): Delivery => ({
  ...rest,
  nextAttemptAt: rest.status === "pending" ? Math.max(dueAt, rest.createdAt) : undefined
})

const requireEndpoint = ({ events }: Store, accountId: string, id: string) =>
  Effect.suspend(() => {
    const stored = events.endpoints.get(id)
    return stored?.endpoint.accountId === accountId ? Effect.succeed(stored) : Effect.fail(noSuchEndpoint)
  })

const ownEndpoints = ({ events }: Store, accountId: string): ReadonlyArray<Endpoint> =>
  [...events.endpoints.values()].map(({ endpoint }) => endpoint).filter((endpoint) => endpoint.accountId === accountId)

const addEndpoint = Effect.fnUntraced(function* (store: Store, accountId: string, added: NewEndpoint) {
  const { id, secret, types, url } = added
  if (ownEndpoints(store, accountId).length >= maxEndpoints) return yield* tooManyEndpoints
  const createdAt = yield* Clock.currentTimeMillis
  const ended = { failingSince: undefined, disabledAt: undefined, disabledFor: undefined }
  const endpoint: Endpoint = { id, accountId, url, types, createdAt, ...ended }
  const state = { old: undefined, addressSince: Number.NEGATIVE_INFINITY, pausedAt: undefined }
  store.events.endpoints.set(id, { endpoint, secret, ...state })
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
  const isMoved = stored.endpoint.url !== before.url
  if (isMoved) stored.addressSince = now
  if (disabled === false && before.disabledAt !== undefined) {
    stored.endpoint = { ...stored.endpoint, failingSince: undefined, disabledAt: undefined, disabledFor: undefined }
  } else if (disabled === true) {
    const { disabledAt = now, disabledFor = "account" } = before
    stored.endpoint = { ...stored.endpoint, disabledAt, disabledFor }
  } else if (isMoved) {
    stored.endpoint = { ...stored.endpoint, failingSince: undefined }
  }
  if (stored.endpoint.disabledAt !== undefined) {
    endPending(store, stoppedError.disabled, ({ endpointId }) => endpointId === id)
  } else if (isMoved) {
    dropPending(store, "address_changed", ({ endpointId }) => endpointId === id)
  }
  return stored.endpoint
})

const addTest = Effect.fnUntraced(function* (store: Store, accountId: string, id: string) {
  const { endpoint } = yield* requireEndpoint(store, accountId, id)
  if (endpoint.disabledAt !== undefined) return yield* endpointDisabled
  if (isQueueFull(store, accountId, id)) return yield* queueFull
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
  const start = after === undefined ? 0 : all.findIndex((event) => event.id === after) + 1
  const page = after !== undefined && start === 0 ? [] : all.slice(start, start + limit)
  return { deliveries: page.map(toDelivery), next: start + limit < all.length ? page.at(-1)?.id : undefined }
})

const redeliver = Effect.fnUntraced(function* (store: Store, accountId: string, id: string, deliveryId: string) {
  const { addressSince, endpoint } = yield* requireEndpoint(store, accountId, id)
  const known = store.events.deliveries.find((delivery) => delivery.id === deliveryId && delivery.endpointId === id)
  if (known === undefined) return yield* noSuchDelivery
  if (endpoint.disabledAt !== undefined) return yield* endpointDisabled
  if (known.event.createdAt < addressSince) return yield* addressChanged
  if (isQueueFull(store, accountId, id)) return yield* queueFull
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

const isDue = ({ dueAt, status }: StoredDelivery, now: number): boolean => status === "pending" && dueAt <= now

const isPaused = ({ events }: Store, { endpointId, event }: StoredDelivery): boolean =>
  endpointId !== undefined &&
  (events.paused.has(event.accountId) || events.endpoints.get(endpointId)?.pausedAt !== undefined)

const isSuspended = ({ accounts }: Store, { event }: StoredDelivery): boolean =>
  accounts.get(event.accountId)?.account.suspendedAt !== undefined

const toRecipient = ({ endpointId, event }: StoredDelivery) => ({ accountId: event.accountId, endpointId })

const take = (store: Store, limits: SlotLimits, leaseMs: number, now: number): ReadonlyArray<TakenDelivery> => {
  const { deliveries } = store.events
  dropPending(store, "suspended", (delivery) => isDue(delivery, now) && isSuspended(store, delivery))
  const due = deliveries
    .filter((delivery) => isDue(delivery, now) && !isPaused(store, delivery))
    .toSorted((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
    .map((delivery) => {
      const receiver = receiverOf(store, delivery, now)
      const isFailing = receiver._tag === "endpoint" && receiver.isFailing
      return { ...toRecipient(delivery), id: delivery.id, isFailing, delivery, receiver }
    })
  const inFlight = deliveries.filter(({ dueAt, isTaken, status }) => status === "pending" && isTaken && dueAt > now)
  return shareSlots(due, inFlight.map(toRecipient), limits).chosen.map(({ delivery, receiver }) => {
    delivery.isTaken = true
    delivery.attempts += 1
    delivery.dueAt = now + leaseMs
    return { id: delivery.id, event: delivery.event, attempts: delivery.attempts, receiver }
  })
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

const figures = (store: Store, now: number) => {
  const pending = store.events.deliveries.filter(({ status }) => status === "pending")
  const inFlight = new Set(
    pending.filter(({ dueAt, isTaken }) => isTaken && dueAt > now).map(({ endpointId }) => endpointId)
  )
  const isFailing = ({ endpointId }: StoredDelivery) =>
    store.events.endpoints.get(endpointId ?? "")?.endpoint.failingSince !== undefined
  const waiting = pending.filter(
    (delivery) =>
      isDue(delivery, now) &&
      !isPaused(store, delivery) &&
      !isSuspended(store, delivery) &&
      !isFailing(delivery) &&
      !inFlight.has(delivery.endpointId)
  )
  const since = (moments: ReadonlyArray<number>) => Math.max(now - Math.min(now, ...moments), 0)
  return {
    pending: pending.length,
    oldestMs: since(pending.map(({ createdAt }) => createdAt)),
    overdueMs: since(waiting.map(({ createdAt, dueAt }) => Math.max(dueAt, createdAt)))
  }
}

const queues = ({ events }: Store, accountId: string): AccountQueues => {
  const count = (id: string, status: Delivery["status"]) =>
    events.deliveries.filter((delivery) => delivery.endpointId === id && delivery.status === status).length
  const own = [...events.endpoints.values()].filter(({ endpoint }) => endpoint.accountId === accountId).toReversed()
  return {
    pausedAt: events.paused.get(accountId),
    webhooks: own.map(({ endpoint, pausedAt }) => ({
      endpoint,
      pausedAt,
      queued: count(endpoint.id, "pending"),
      failed: count(endpoint.id, "failed")
    }))
  }
}

const pause = Effect.fnUntraced(function* (
  store: Store,
  accountId: string,
  endpointId: string | undefined,
  isPausing: boolean
) {
  const now = yield* Clock.currentTimeMillis
  if (endpointId !== undefined) {
    const stored = yield* requireEndpoint(store, accountId, endpointId)
    stored.pausedAt = isPausing ? (stored.pausedAt ?? now) : undefined
  } else if (!isPausing) store.events.paused.delete(accountId)
  else if (!store.events.paused.has(accountId)) store.events.paused.set(accountId, now)
})

const drop = Effect.fnUntraced(function* (store: Store, accountId: string, endpointId: string | undefined) {
  if (endpointId !== undefined) yield* requireEndpoint(store, accountId, endpointId)
  const isMeant = (delivery: StoredDelivery) =>
    endpointId === undefined ? delivery.endpointId !== undefined : delivery.endpointId === endpointId
  return dropPending(store, "operator", (delivery) => delivery.event.accountId === accountId && isMeant(delivery))
})

export const layer: Layer.Layer<EventBooks, never, MemoryStore> = Layer.effect(
  EventBooks,
  Effect.map(MemoryStore, (store) =>
    EventBooks.of({
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
      prune: (ageMs) => atNow((now) => pruneEvents(store, now - ageMs)),
      queues: (accountId) => Effect.sync(() => queues(store, accountId)),
      pause: (accountId, endpointId, isPausing) => pause(store, accountId, endpointId, isPausing),
      drop: (accountId, endpointId) => drop(store, accountId, endpointId),
      collectDropped: (limit) => Effect.sync(() => store.events.dropped.splice(0, limit)),
      addExpiring: (withinMs) => atNow((now) => noticeExpiring(store, now, now + withinMs)),
      // Secrets are not encrypted here.
      resealSecrets: () => Effect.succeed({ renewed: 0, unreadable: undefined }),
      figures: atNow((now) => figures(store, now))
    })
  )
)
