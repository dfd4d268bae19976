import { Context, Duration, Effect, Exit, Fiber, Layer, Option, type Scope } from "effect"

/** Where the public listener stands. Requests are welcome while it is `serving` only. */
export type ListenerState = "starting" | "serving" | "draining"

export interface ReadinessReport {
  readonly ready: boolean
  readonly listener: ListenerState
  /** Each check by name. */
  readonly checks: Readonly<Record<string, "ok" | "failed" | "timeout">>
}

/** A probe gives up after a few seconds, so a dependency that is slower than this one counts as gone. */
const checkTimeout = Duration.seconds(1)

/** Whether a load balancer should send requests here. What it takes is told by the layers that know. */
export class Readiness extends Context.Service<
  Readiness,
  {
    /** Adds a check for as long as the scope is open. It fails by failing, or by taking longer than a second. */
    readonly add: (name: string, check: Effect.Effect<unknown, unknown>) => Effect.Effect<void, never, Scope.Scope>
    readonly setListener: (state: ListenerState) => Effect.Effect<void>
    readonly report: Effect.Effect<ReadinessReport>
  }
>()("quarry/services/Readiness") {
  static readonly layer = Layer.sync(Readiness, () => {
    const checks = new Map<string, Effect.Effect<unknown, unknown>>()
    let listener: ListenerState = "starting"

    // In a fiber of its own, whose interruption is not waited for: a driver may take seconds to cancel a statement.
    const run = Effect.fnUntraced(function* (name: string, check: Effect.Effect<unknown, unknown>) {
      const fiber = yield* Effect.forkDetach(check)
      const exit = yield* Effect.timeoutOption(Fiber.await(fiber), checkTimeout).pipe(
        Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
      )
      if (Option.isNone(exit)) return "timeout"
      if (Exit.isSuccess(exit.value)) return "ok"
      yield* Effect.logWarning(`Readiness check ${name} failed`, exit.value.cause)
      return "failed"
    })

    const report = Effect.gen(function* () {
      const results = yield* Effect.forEach(
        checks,
        ([name, check]) => Effect.map(run(name, check), (result) => [name, result] as const),
        { concurrency: "unbounded" }
      )
      const ready = listener === "serving" && results.every(([, result]) => result === "ok")
      return { ready, listener, checks: Object.fromEntries(results) }
    })

    return Readiness.of({
      add: (name, check) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            checks.set(name, check)
          }),
          () => Effect.sync(() => checks.delete(name))
        ),
      setListener: (state) =>
        Effect.sync(() => {
          listener = state
        }),
      report
    })
  })
}
