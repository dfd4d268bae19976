import { Context, Duration, Effect, Exit, Fiber, Layer, Metric, Option, Schedule, type Scope } from "effect"
import { DatabaseLane } from "../DatabaseLane.ts"
import { observe } from "../telemetry/Instrument.ts"
import { processReady, readinessCheck } from "../telemetry/Metrics.ts"

export type ListenerState = "starting" | "serving" | "draining"

/** The host may be a wildcard. */
export interface BoundAddress {
  readonly host: string
  readonly port: number
}

export interface ReadinessReport {
  /** True while load balancers should send requests here. */
  readonly ready: boolean
  readonly listener: ListenerState
}

export interface FullReport extends ReadinessReport {
  /** True if the process is ready and every check is `ok`. */
  readonly healthy: boolean
  readonly checks: Readonly<Record<string, CheckResult>>
  /** Progress of work in the background. */
  readonly background: Readonly<Record<string, BackgroundWork>>
}

export interface BackgroundWork {
  readonly done: number
}

type CheckResult = "ok" | "failed" | "timeout"

/** Shorter than the timeout of a monitor's probe. */
const checkTimeout = Duration.seconds(1)

/** Caches results, so that probes cannot overload what they check. */
const resultTtl = Duration.seconds(5)

/** Runs checks even if no one asks, for the metrics. */
const checkInterval = Duration.seconds(15)

/** Readiness for a load balancer, and the health of dependencies (R54). */
export class Readiness extends Context.Service<
  Readiness,
  {
    /** Adds a check, which runs every 15 s and for full reports, at most every 5 s, and fails after 1 s. */
    readonly add: (name: string, check: Effect.Effect<unknown, unknown>) => Effect.Effect<void, never, Scope.Scope>
    /** Without an address, the previous one is kept. */
    readonly setListener: (state: ListenerState, address?: BoundAddress) => Effect.Effect<void>
    /** Reports background work in full reports until `undefined` ends it. It does not affect health. */
    readonly setBackground: (name: string, work: BackgroundWork | undefined) => Effect.Effect<void>
    /** Undefined before the listener is bound. */
    readonly address: Effect.Effect<BoundAddress | undefined>
    /** Ignores the database: a short outage, which requests survive, would remove all replicas from service. */
    readonly report: Effect.Effect<ReadinessReport>
    readonly full: Effect.Effect<FullReport>
  }
>()("quarry/services/operations/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const checks = new Map<string, Effect.Effect<CheckResult>>()
      const background = new Map<string, BackgroundWork>()
      let listener: ListenerState = "starting"
      let address: BoundAddress | undefined
      yield* observe(processReady.of(), () => (listener === "serving" ? 1 : 0))

      const report = Effect.sync(() => ({ ready: listener === "serving", listener }))

      const full = Effect.gen(function* () {
        const entries = [...checks]
        const results = yield* Effect.forEach(entries, ([, check]) => check, { concurrency: "unbounded" })
        const { ready } = yield* report
        const healthy = ready && results.every((result) => result === "ok")
        return {
          ready,
          listener,
          healthy,
          checks: Object.fromEntries(entries.map(([name], index) => [name, results[index] ?? "failed"])),
          background: Object.fromEntries(background)
        }
      })

      const add = Effect.fnUntraced(function* (name: string, check: Effect.Effect<unknown, unknown>) {
        const ofOperator = Effect.provideService(check, DatabaseLane, "operator")
        const result = yield* Effect.cachedWithTTL(
          observeCheck(name, ofOperator, () => listener === "starting"),
          resultTtl
        )
        yield* Effect.acquireRelease(
          Effect.sync(() => checks.set(name, result)),
          () => Effect.sync(() => checks.delete(name))
        )
        yield* Effect.forkScoped(Effect.repeat(result, Schedule.spaced(checkInterval)))
      })

      const setListener = (state: ListenerState, boundAt?: BoundAddress) =>
        Effect.sync(() => {
          listener = state
          address = boundAt ?? address
        })

      const setBackground = (name: string, work: BackgroundWork | undefined) =>
        Effect.sync(() => {
          if (work === undefined) background.delete(name)
          else background.set(name, work)
        })

      return Readiness.of({ add, setBackground, setListener, address: Effect.sync(() => address), report, full })
    })
  )
}

/**
 * Runs a check and logs only changes of its result, so that an outage does not fill the log. A timeout is logged if the
 * next run times out too: a single one, and any during the start, only show that the machine is busy.
 */
const observeCheck = (
  name: string,
  check: Effect.Effect<unknown, unknown>,
  isStarting: () => boolean
): Effect.Effect<CheckResult> => {
  const exitOf = exitWithinTimeout(check)
  let previous: CheckResult = "ok"
  let timeouts = 0
  return Effect.gen(function* () {
    const exit = yield* exitOf
    const result = Option.match(exit, { onNone: () => "timeout" as const, onSome: resultOf })
    yield* Metric.update(readinessCheck.of(name), result === "ok" ? 1 : 0)
    timeouts = result === "timeout" ? timeouts + 1 : 0
    if (timeouts > 0 && (timeouts === 1 || isStarting())) return result
    if (result !== previous) {
      if (result === "ok") yield* Effect.logInfo(`The check ${name} succeeds again`)
      else yield* Effect.logWarning(`The check ${name} failed: ${result}`, ...causeOf(exit))
    }
    previous = result
    return result
  })
}

const resultOf = (exit: Exit.Exit<unknown, unknown>): CheckResult => (Exit.isSuccess(exit) ? "ok" : "failed")

const causeOf = (exit: Option.Option<Exit.Exit<unknown, unknown>>) =>
  Option.isSome(exit) && Exit.isFailure(exit.value) ? [exit.value.cause] : []

/**
 * Returns the result of a check, or none at the timeout. It does not wait for the interruption, because a commit
 * waiting for a standby cannot be interrupted. A hanging check is not started again, so that it holds only one
 * connection.
 */
const exitWithinTimeout = (check: Effect.Effect<unknown, unknown>) => {
  let latest: Fiber.Fiber<unknown, unknown> | undefined
  return Effect.gen(function* () {
    if (latest !== undefined && latest.pollUnsafe() === undefined) return Option.none()
    const fiber = yield* Effect.forkDetach(check)
    latest = fiber
    return yield* Effect.timeoutOption(Fiber.await(fiber), checkTimeout).pipe(
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
  })
}
