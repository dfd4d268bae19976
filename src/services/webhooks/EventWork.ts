import { Cause, Clock, Duration, Effect, FiberSet, Layer, Metric, Random } from "effect"
import { toMoment } from "../../domain/requests/fields.ts"
import { unreachableError, waitAfter } from "../../domain/webhooks/Event.ts"
import { Accounts } from "../accounts/Accounts.ts"
import { ifActing, logFailure, runInBackground, runRepeatedly } from "../background.ts"
import { Ledger } from "../credits/Ledger.ts"
import { StoreClock, storeTime } from "../StoreClock.ts"
import { eventDeliveries, eventDrops, eventOldest, eventOverdue, eventPending } from "../telemetry/Metrics.ts"
import { type Attempt, dropReasons, EventBooks, type TakenDelivery } from "./EventBooks.ts"
import { EventEmails } from "./EventEmails.ts"
import { WebhookClient } from "./WebhookClient.ts"

const defaultTurnInterval = Duration.seconds(1)
/** Shorter if the last poll found deliveries, because each poll takes only a few per endpoint. */
const busyTurnInterval = Duration.millis(50)
const defaultUpkeepInterval = Duration.seconds(15)
const pruneInterval = Duration.hours(1)

/** Concurrent attempts, shared among accounts. Failing endpoints have fewer, so that they do not delay others. */
const maxAtOnce = { working: 96, failing: 32 }
/** Over all replicas. */
const maxPerEndpoint = 4

/** Longer than any attempt, so that no other process makes the same attempt. */
const leaseMs = Duration.toMillis(Duration.seconds(30))
const attemptTimeout = Duration.seconds(20)

const keepEvents = Duration.days(30)

/** Time before a key's expiry at which `key.expiring` is written. */
const expiringMs = Duration.toMillis(Duration.days(7))

const maxOverdueAccounts = 100
const maxResealed = 100
const maxCollected = 1_000

interface Deps {
  readonly accounts: Accounts["Service"]
  readonly books: EventBooks["Service"]
  readonly client: WebhookClient["Service"]
  readonly clock: StoreClock["Service"]
  readonly emails: EventEmails["Service"]
  readonly ledger: Ledger["Service"]
}

interface AttemptFailure {
  readonly error: string
  readonly httpStatus?: number
  readonly retryAfterMs?: number
  readonly isGone?: boolean
  /** True if another attempt would have the same result. */
  readonly isFinal?: boolean
}

type AttemptOutcome = { readonly httpStatus: number | undefined } | AttemptFailure

const statusFailure = (httpStatus: number, retryAfterMs: number): AttemptFailure => ({
  httpStatus,
  retryAfterMs,
  isGone: httpStatus === 410,
  error:
    httpStatus >= 300 && httpStatus < 400
      ? `the endpoint responded with ${httpStatus}; redirects are not followed`
      : `the endpoint responded with ${httpStatus}`
})

const unsignable: AttemptFailure = { error: "the webhook's secret can no longer be read; rotate it" }

const post = Effect.fnUntraced(function* (
  { client, clock }: Deps,
  { event, receiver }: TakenDelivery
): Effect.fn.Return<AttemptOutcome> {
  if (receiver._tag === "email") return yield* Effect.die(new Error("an email is not posted"))
  if (receiver.secrets.length === 0) return unsignable
  const timestamp = Math.floor((yield* storeTime(clock)) / 1000)
  const body = JSON.stringify({ type: event.type, timestamp: toMoment(event.createdAt), data: event.data })
  return yield* client.post({ url: receiver.url, id: event.id, timestamp, body, secrets: receiver.secrets }).pipe(
    Effect.map(({ retryAfterMs, status }) =>
      status >= 200 && status < 300 ? { httpStatus: status } : statusFailure(status, retryAfterMs)
    ),
    Effect.catchTag(["AddressClosed", "WebhookUnreachable"], ({ reason }) =>
      Effect.as(Effect.logDebug(`${event.id} did not reach ${receiver.id}: ${reason}`), {
        error: unreachableError(reason)
      })
    )
  )
})

/** The address may be a stranger's, who must not receive text chosen by the account, such as a key's name. */
const unconfirmed: AttemptFailure = { error: "the account's address is not confirmed", isFinal: true }

const email = ({ emails }: Deps, { event, receiver }: TakenDelivery): Effect.Effect<AttemptOutcome> => {
  if (receiver._tag !== "email") return Effect.die(new Error("an endpoint gets no email"))
  if (receiver.address === undefined) return Effect.succeed(unconfirmed)
  return emails.send(receiver.address, event).pipe(
    Effect.as({ httpStatus: undefined }),
    Effect.catchTag("EmailNotSent", ({ reason }) => Effect.succeed({ error: reason }))
  )
}

const late: AttemptFailure = { error: unreachableError("the attempt took too long") }
const broken: AttemptFailure = { error: "the attempt failed because of an internal error" }

/** Makes one attempt and records the result. If the process dies in between, the delivery becomes due again. */
const deliver = Effect.fn("EventWork.deliver")(function* (deps: Deps, taken: TakenDelivery) {
  const { books } = deps
  const channel = taken.receiver._tag === "email" ? "email" : "webhook"
  yield* Effect.annotateCurrentSpan({ "quarry.event.id": taken.event.id, "quarry.event.type": taken.event.type })
  const startedAt = yield* Clock.currentTimeMillis
  const outcome = yield* (channel === "email" ? email(deps, taken) : post(deps, taken)).pipe(
    Effect.timeoutOrElse({ duration: attemptTimeout, orElse: () => Effect.succeed(late) }),
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError("A delivery attempt failed unexpectedly.", defect), broken)
    )
  )
  const durationMs = (yield* Clock.currentTimeMillis) - startedAt
  const random = yield* Random.next
  const attempt: Attempt =
    "error" in outcome
      ? {
          durationMs,
          httpStatus: outcome.httpStatus,
          failure: {
            error: outcome.error,
            waitMs: outcome.isFinal ? undefined : waitAfter(taken.attempts, random, outcome.retryAfterMs),
            isGone: outcome.isGone ?? false
          }
        }
      : { durationMs, httpStatus: outcome.httpStatus, failure: undefined }
  const end = yield* books.finish(taken, attempt)
  yield* Metric.update(eventDeliveries.of(channel, end), 1)
})

/** Opens periods and applies plan changes that are due, so that their events do not wait for the next search. */
const openOverdue = Effect.fnUntraced(function* ({ accounts, books, ledger }: Deps) {
  for (const id of yield* books.overdueAccounts(maxOverdueAccounts)) {
    yield* accounts.byId(id).pipe(
      Effect.flatMap(ledger.allowance),
      Effect.catchTag("not_found", () => Effect.void)
    )
  }
})

/** Leases as many deliveries as there are free slots, and runs each attempt in its own fiber. */
const makePoll = Effect.fnUntraced(function* (deps: Deps) {
  const attempts = yield* FiberSet.make()
  const room = { ...maxAtOnce }
  const attempt = (taken: TakenDelivery) => {
    const lane = taken.receiver._tag === "endpoint" && taken.receiver.isFailing ? "failing" : "working"
    room[lane] -= 1
    return deliver(deps, taken).pipe(
      Effect.catchCause((cause) =>
        Effect.logWarning("A delivery attempt was not recorded. It will be repeated.", cause)
      ),
      Effect.ensuring(
        Effect.sync(() => {
          room[lane] += 1
        })
      ),
      FiberSet.run(attempts)
    )
  }
  return Effect.gen(function* () {
    if (room.working <= 0 && room.failing <= 0) return 0
    const taken = yield* deps.books.take({ ...room, perEndpoint: maxPerEndpoint }, leaseMs)
    yield* Effect.forEach(taken, attempt, { discard: true })
    return taken.length
  })
})

/** Loops forever, with a short pause after deliveries were found and the full interval otherwise. */
const runPollLoop = Effect.fnUntraced(function* (turn: Effect.Effect<number>, interval: Duration.Duration) {
  // Shutdown may interrupt the transaction, which is not worth a warning.
  const watchedPoll = Effect.catchCause(turn, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.succeed(0)
      : Effect.as(Effect.logWarning("Due event deliveries could not be read.", cause), 0)
  )
  while (true) {
    const taken = yield* watchedPoll
    yield* Effect.sleep(taken > 0 ? Duration.min(busyTurnInterval, interval) : interval)
  }
})

const makeReseal = ({ books }: Deps) => {
  let hasWarned = false
  return Effect.gen(function* () {
    const { unreadable = 0 } = yield* books.resealSecrets(maxResealed)
    if (unreadable === 0 || hasWarned) return
    hasWarned = true
    yield* Effect.logWarning(
      `Secrets of ${unreadable} webhooks cannot be read. Nothing can be delivered to these webhooks until their ` +
        "accounts rotate their secrets."
    )
  })
}

/** Logs and counts dropped deliveries, including those dropped by requests and commands of other processes. */
const reportDropped = Effect.fnUntraced(function* ({ books }: Deps) {
  for (const { accountId, deliveries, endpointId, reason } of yield* books.collectDropped(maxCollected)) {
    yield* Metric.update(eventDrops.of(reason), deliveries)
    yield* Effect.annotateLogs(Effect.logInfo(`Dropped ${deliveries} event deliveries: ${reason}`), {
      account_id: accountId,
      ...(endpointId === undefined ? {} : { webhook_id: endpointId })
    })
  }
})

/** A failing step does not prevent the others. */
const makeUpkeep = (deps: Deps) => {
  const { books, emails } = deps
  const report = Effect.gen(function* () {
    const { oldestMs, overdueMs, pending } = yield* books.figures
    yield* Metric.update(eventOldest.of(), oldestMs / 1000)
    yield* Metric.update(eventOverdue.of(), overdueMs / 1000)
    yield* Metric.update(eventPending.of(), pending)
  })
  const steps = [
    ifActing(logFailure(books.setEmails(emails.delivers), "The setting for event emails could not be written.")),
    ifActing(logFailure(openOverdue(deps), "Periods that have started could not be opened.")),
    ifActing(logFailure(books.addExpiring(expiringMs), "Events for expiring keys could not be written.")),
    logFailure(makeReseal(deps), "Webhook secrets could not be re-encrypted."),
    logFailure(reportDropped(deps), "Dropped deliveries could not be counted."),
    logFailure(report, "Event metrics could not be read.")
  ]
  return Effect.all(steps, { discard: true })
}

export interface EventWorkOptions {
  readonly turnInterval?: Duration.Duration
  readonly upkeepInterval?: Duration.Duration
}

export const layer = (options: EventWorkOptions = {}) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const books = yield* EventBooks
      const deps: Deps = {
        accounts: yield* Accounts,
        books,
        client: yield* WebhookClient,
        clock: yield* StoreClock,
        emails: yield* EventEmails,
        ledger: yield* Ledger
      }
      // Exported with 0 at the start, so that dashboards find the series and the first drop is an increase.
      yield* Metric.update(eventDeliveries.of("webhook", "delivered"), 0)
      yield* Effect.forEach(dropReasons, (reason) => Metric.update(eventDrops.of(reason), 0), { discard: true })
      const turn = yield* makePoll(deps)
      const prune = logFailure(books.prune(Duration.toMillis(keepEvents)), "Old events could not be deleted.")
      yield* runRepeatedly(makeUpkeep(deps), options.upkeepInterval ?? defaultUpkeepInterval)
      yield* ifActing(runInBackground(runPollLoop(turn, options.turnInterval ?? defaultTurnInterval)))
      yield* ifActing(runRepeatedly(prune, pruneInterval))
    })
  )
