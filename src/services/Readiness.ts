import { Context, Duration, Effect, Exit, Fiber, Layer, Metric, Option, Schedule, type Scope } from "effect"
import { observe } from "./Instrument.ts"
import { processReady, readinessCheck } from "./Metrics.ts"

/** The state of the public listener. It takes requests for as long as it is `serving`. */
export type ListenerState = "starting" | "serving" | "draining"

export interface ReadinessReport {
  /** True while load balancers should send requests here. */
  readonly ready: boolean
  readonly listener: ListenerState
}

export interface FullReport extends ReadinessReport {
  /** True where the process is ready and every check is `ok`. */
  readonly healthy: boolean
  /** The results of the checks, by name. */
  readonly checks: Readonly<Record<string, CheckResult>>
}

type CheckResult = "ok" | "failed" | "timeout"

/** The timeout of a check. It is shorter than the few seconds after which a monitor's probe fails. */
const checkTimeout = Duration.seconds(1)

/** The time for which a result is kept, so that probes cannot load what they ask about. */
const resultTtl = Duration.seconds(5)

/** The metrics show a dependency that nobody asks about, by a check in this interval. */
const checkInterval = Duration.seconds(15)

/** The readiness of this process for requests of a load balancer, and the health of what it depends on (R54). */
export class Readiness extends Context.Service<
  Readiness,
  {
    /**
     * Adds a check until the scope closes. One that takes longer than a second has failed. It runs every 15 seconds and
     * when somebody asks for the full report, at most every 5 seconds.
     */
    readonly add: (name: string, check: Effect.Effect<unknown, unknown>) => Effect.Effect<void, never, Scope.Scope>
    readonly setListener: (state: ListenerState) => Effect.Effect<void>
    /**
     * Depends on nothing outside of this process: a pause of the database, which callers survive, would otherwise take
     * all replicas from their load balancer at once.
     */
    readonly report: Effect.Effect<ReadinessReport>
    readonly full: Effect.Effect<FullReport>
  }
>()("quarry/services/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const checks = new Map<string, Effect.Effect<CheckResult>>()
      let listener: ListenerState = "starting"
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
          checks: Object.fromEntries(entries.map(([name], index) => [name, results[index] ?? "failed"]))
        }
      })

      const add = Effect.fnUntraced(function* (name: string, check: Effect.Effect<unknown, unknown>) {
        const result = yield* Effect.cachedWithTTL(observeCheck(name, check), resultTtl)
        yield* Effect.acquireRelease(
          Effect.sync(() => checks.set(name, result)),
          () => Effect.sync(() => checks.delete(name))
        )
        yield* Effect.forkScoped(Effect.repeat(result, Schedule.spaced(checkInterval)))
      })

      const setListener = (state: ListenerState) =>
        Effect.sync(() => {
          listener = state
        })

      return Readiness.of({ add, setListener, report, full })
    })
  )
}

/** Runs a check, measures its result, and logs a change of it: an outage would otherwise fill the log. */
const observeCheck = (name: string, check: Effect.Effect<unknown, unknown>): Effect.Effect<CheckResult> => {
  const exitOf = exitWithinTimeout(check)
  let previous: CheckResult = "ok"
  return Effect.gen(function* () {
    const exit = yield* exitOf
    const result = Option.match(exit, { onNone: () => "timeout" as const, onSome: resultOf })
    yield* Metric.update(readinessCheck.of(name), result === "ok" ? 1 : 0)
    if (result !== previous) {
      if (result === "ok") yield* Effect.logInfo(`The check ${name} is ok again`)
      else yield* Effect.logWarning(`The check ${name} has the result ${result}`, ...causeOf(exit))
    }
    previous = result
    return result
  })
}

const resultOf = (exit: Exit.Exit<unknown, unknown>): CheckResult => (Exit.isSuccess(exit) ? "ok" : "failed")

const causeOf = (exit: Option.Option<Exit.Exit<unknown, unknown>>) =>
  Option.isSome(exit) && Exit.isFailure(exit.value) ? [exit.value.cause] : []

/**
 * The exit of a check; none at the timeout. The check runs in a fiber of its own, and nobody waits for its interruption:
 * a commit that waits for a standby cannot be interrupted. While one hangs no other is started, because each would take
 * another connection for as long.
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
