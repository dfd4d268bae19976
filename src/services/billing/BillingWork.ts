import { Duration, Effect, Layer, Metric } from "effect"
import { ifActing, logFailure, runRepeatedly } from "../background.ts"
import { billingDrift, billingEvents, billingInboxOldest, billingOwed, billingSweeps } from "../telemetry/Metrics.ts"
import { BillingBooks, type SweepExtent } from "./BillingBooks.ts"
import { driftKinds, Reconciler } from "./Reconciler.ts"

const inboxInterval = Duration.seconds(1)
const removalInterval = Duration.seconds(5)
/** Interval at which replicas check whether a sweep is due. */
const sweepInterval = Duration.seconds(30)
const reportInterval = Duration.seconds(15)
const pruneInterval = Duration.hours(1)

const sweepEvery: Readonly<Record<SweepExtent, Duration.Duration>> = {
  open: Duration.minutes(5),
  changed: Duration.hours(1)
}
/** After this time, another replica may repeat a sweep. */
const sweepLease = Duration.minutes(15)

/** Processed deliveries are kept, so that repeated ones are recognized. */
const keepDeliveries = Duration.days(30)

const sweepIfDue = Effect.fnUntraced(function* (
  books: BillingBooks["Service"],
  reconciler: Reconciler["Service"],
  extent: SweepExtent
) {
  const turn = yield* books.takeSweep(extent, Duration.toMillis(sweepEvery[extent]), Duration.toMillis(sweepLease))
  if (turn === undefined) return
  yield* reconciler.sweep(extent, turn.since).pipe(
    Effect.andThen(Metric.update(billingSweeps.of(extent, "ok"), 1)),
    Effect.andThen(books.finishSweep(extent, turn.startedAt, true)),
    Effect.tapCause(() =>
      Effect.andThen(
        Metric.update(billingSweeps.of(extent, "failed"), 1),
        books.finishSweep(extent, turn.startedAt, false)
      )
    )
  )
})

/** Initializes counters used by alerts to 0. Otherwise Prometheus would not see the first increase. */
const initializeCounters = Effect.forEach(
  [billingEvents.of("none", "refused"), ...driftKinds.map((kind) => billingDrift.of(kind))],
  (count) => Metric.update(count, 0),
  { discard: true }
)

export const layer: Layer.Layer<never, never, BillingBooks | Reconciler> = Layer.effectDiscard(
  Effect.gen(function* () {
    const books = yield* BillingBooks
    const reconciler = yield* Reconciler
    yield* initializeCounters
    const report = Effect.gen(function* () {
      const { oldestDeliveryMs, owed } = yield* books.figures
      yield* Metric.update(billingInboxOldest.of(), oldestDeliveryMs / 1000)
      yield* Metric.update(billingOwed.of(), owed)
    })
    const sweeps = Effect.andThen(sweepIfDue(books, reconciler, "changed"), sweepIfDue(books, reconciler, "open"))
    const prune = books.pruneDeliveries(Duration.toMillis(keepDeliveries))
    const inbox = logFailure(reconciler.drainInbox, "Payment provider deliveries could not be read.")
    const removals = logFailure(reconciler.drainRemovals, "Customers could not be removed. This will be retried.")
    yield* runRepeatedly(logFailure(report, "Payment metrics could not be read."), reportInterval)
    yield* ifActing(runRepeatedly(inbox, inboxInterval))
    yield* ifActing(runRepeatedly(removals, removalInterval))
    yield* ifActing(
      runRepeatedly(logFailure(sweeps, "The books could not be compared with the payment provider yet."), sweepInterval)
    )
    yield* ifActing(runRepeatedly(logFailure(prune, "Old deliveries could not be deleted."), pruneInterval))
  })
)
