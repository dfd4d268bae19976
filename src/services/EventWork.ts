import { Cause, Clock, Duration, Effect, FiberSet, Layer, Metric, Random } from "effect"
import { unreachableError, waitAfter } from "../domain/Event.ts"
import { toMoment } from "../domain/fields.ts"
import { Accounts } from "./Accounts.ts"
import { logFailure, runRepeatedly } from "./background.ts"
import { type Attempt, dropReasons, EventBooks, type TakenDelivery } from "./EventBooks.ts"
import { EventEmails } from "./EventEmails.ts"
import { Ledger } from "./Ledger.ts"
import { eventDeliveries, eventDrops, eventOldest, eventOverdue, eventPending } from "./Metrics.ts"
import { StoreClock, storeTime } from "./StoreClock.ts"
import { WebhookClient } from "./WebhookClient.ts"

/** A turn finds what is due by one small statement. */
const defaultTurnInterval = Duration.seconds(1)
/** The time to the next turn after one that found something: an endpoint gets a few deliveries in each. */
const busyTurnInterval = Duration.millis(50)
const defaultUpkeepInterval = Duration.seconds(15)
const pruneInterval = Duration.hours(1)

/**
 * Attempts of this process at the same time, which accounts share (`shareSlots`). Receivers that fail have fewer, so that
 * those that work have room.
 */
const maxAtOnce = { working: 96, failing: 32 }
/** Over all replicas. */
const maxPerEndpoint = 4

/** Far longer than an attempt, so that nobody else makes it while it runs. */
const leaseMs = Duration.toMillis(Duration.seconds(30))
/** The longest that an attempt may take with everything that belongs to it. */
const attemptTimeout = Duration.seconds(20)

/** Events are kept this long, with their deliveries. */
const keepEvents = Duration.days(30)

/** The time before a key's expiry at which its `key.expiring` is written. */
const expiringMs = Duration.toMillis(Duration.days(7))

const maxOverdueAccounts = 100
const maxResealed = 100
const maxCollected = 1_000

interface Deps {
  readonly accounts: Accounts["Service"]
  readonly books: EventBooks["Service"]
  readonly client: WebhookClient["Service"]
  readonly clock: StoreClock
  readonly emails: EventEmails["Service"]
  readonly ledger: Ledger["Service"]
}

interface AttemptFailure {
  readonly error: string
  readonly httpStatus?: number
  readonly retryAfterMs?: number
  readonly isGone?: boolean
  /** True where another attempt would end the same. */
  readonly isFinal?: boolean
}

type AttemptOutcome = { readonly httpStatus: number | undefined } | AttemptFailure

const statusFailure = (httpStatus: number, retryAfterMs: number): AttemptFailure => ({
  httpStatus,
  retryAfterMs,
  isGone: httpStatus === 410,
  error:
    httpStatus >= 300 && httpStatus < 400
      ? `it answered ${httpStatus}: redirects are not followed`
      : `it answered ${httpStatus}`
})

const unsignable: AttemptFailure = { error: "the webhook's secret cannot be read any more: rotate it" }

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

/**
 * Until an address is confirmed it may be anybody's. The email would bring a stranger a text that the account chose, such
 * as a key's name, beside links of ours.
 */
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
const broken: AttemptFailure = { error: "the attempt broke off on our side" }

/** One attempt, and what follows from it. A process that dies in between leaves a delivery that is due again. */
const deliver = Effect.fn("EventWork.deliver")(function* (deps: Deps, taken: TakenDelivery) {
  const { books } = deps
  const channel = taken.receiver._tag === "email" ? "email" : "webhook"
  yield* Effect.annotateCurrentSpan({ "quarry.event.id": taken.event.id, "quarry.event.type": taken.event.type })
  const begun = yield* Clock.currentTimeMillis
  const outcome = yield* (channel === "email" ? email(deps, taken) : post(deps, taken)).pipe(
    Effect.timeoutOrElse({ duration: attemptTimeout, orElse: () => Effect.succeed(late) }),
    Effect.catchDefect((defect) => Effect.as(Effect.logError("A delivery broke off.", defect), broken))
  )
  const durationMs = (yield* Clock.currentTimeMillis) - begun
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

/** Opens the periods and makes the changes of plan that are due, so that their events do not wait for a search. */
const openOverdue = Effect.fnUntraced(function* ({ accounts, books, ledger }: Deps) {
  for (const id of yield* books.overdueAccounts(maxOverdueAccounts)) {
    yield* accounts.byId(id).pipe(
      Effect.flatMap(ledger.allowance),
      Effect.catchTag("not_found", () => Effect.void)
    )
  }
})

/** Takes what there is room for, and leaves the attempts to fibers of their own. */
const makeTurn = Effect.fnUntraced(function* (deps: Deps) {
  const attempts = yield* FiberSet.make()
  const room = { ...maxAtOnce }
  const attempt = (taken: TakenDelivery) => {
    const lane = taken.receiver._tag === "endpoint" && taken.receiver.isFailing ? "failing" : "working"
    room[lane] -= 1
    return deliver(deps, taken).pipe(
      Effect.catchCause((cause) => Effect.logWarning("A delivery is left to its next attempt.", cause)),
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

/** Takes turns for ever, with a short pause after one that found something and the whole interval after the others. */
const takeTurns = Effect.fnUntraced(function* (turn: Effect.Effect<number>, interval: Duration.Duration) {
  // The end of the process can interrupt the transaction of a turn, which is not worth a warning.
  const watchedTurn = Effect.catchCause(turn, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.succeed(0)
      : Effect.as(Effect.logWarning("Deliveries of events could not be read.", cause), 0)
  )
  while (true) {
    const taken = yield* watchedTurn
    yield* Effect.sleep(taken > 0 ? Duration.min(busyTurnInterval, interval) : interval)
  }
})

/** Encrypts secrets anew during a rotation, and says once how many cannot be read. */
const makeReseal = ({ books }: Deps) => {
  let hasSaid = false
  return Effect.gen(function* () {
    const { unreadable = 0 } = yield* books.resealSecrets(maxResealed)
    if (unreadable === 0 || hasSaid) return
    hasSaid = true
    yield* Effect.logWarning(
      `Secrets of ${unreadable} webhooks cannot be read and are not renewed. Nothing can be sent to them until their ` +
        "accounts rotate their secrets."
    )
  })
}

/** Counts and logs what was dropped, also by requests and commands, which leave it to the next replica that looks. */
const reportDropped = Effect.fnUntraced(function* ({ books }: Deps) {
  for (const { accountId, deliveries, endpointId, reason } of yield* books.collectDropped(maxCollected)) {
    yield* Metric.update(eventDrops.of(reason), deliveries)
    yield* Effect.annotateLogs(Effect.logInfo(`Dropped ${deliveries} deliveries of events: ${reason}`), {
      account_id: accountId,
      ...(endpointId === undefined ? {} : { webhook_id: endpointId })
    })
  }
})

/** Each failure leaves the other steps alone. */
const makeUpkeep = (deps: Deps) => {
  const { books, emails } = deps
  const report = Effect.gen(function* () {
    const { oldestMs, overdueMs, pending } = yield* books.figures
    yield* Metric.update(eventOldest.of(), oldestMs / 1000)
    yield* Metric.update(eventOverdue.of(), overdueMs / 1000)
    yield* Metric.update(eventPending.of(), pending)
  })
  const steps = [
    logFailure(books.setEmails(emails.delivers), "The channels of events could not be written."),
    logFailure(openOverdue(deps), "Periods that have ended could not be opened."),
    logFailure(books.addExpiring(expiringMs), "Keys that expire could not be looked for."),
    logFailure(makeReseal(deps), "Secrets of webhooks could not be renewed."),
    logFailure(reportDropped(deps), "Dropped deliveries could not be counted."),
    logFailure(report, "The figures of events could not be read.")
  ]
  return Effect.all(steps, { discard: true })
}

export interface EventWorkOptions {
  /** The time between looks for deliveries that are due. */
  readonly turnInterval?: Duration.Duration
  readonly upkeepInterval?: Duration.Duration
}

/** The deliveries of events in the background, on every replica. */
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
      // Exported with 0 at start: a panel finds the series before the first attempt, and the first drop is an increase.
      yield* Metric.update(eventDeliveries.of("webhook", "delivered"), 0)
      yield* Effect.forEach(dropReasons, (reason) => Metric.update(eventDrops.of(reason), 0), { discard: true })
      const turn = yield* makeTurn(deps)
      const prune = logFailure(books.prune(Duration.toMillis(keepEvents)), "Old events could not be deleted.")
      yield* runRepeatedly(makeUpkeep(deps), options.upkeepInterval ?? defaultUpkeepInterval)
      yield* Effect.forkScoped(takeTurns(turn, options.turnInterval ?? defaultTurnInterval))
      yield* runRepeatedly(prune, pruneInterval)
    })
  )
