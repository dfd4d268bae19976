import { Context, Duration, Effect, Exit, Fiber, Layer, Option, type Scope } from "effect"

/** The state of the public listener. It accepts requests only while it is `serving`. */
export type ListenerState = "starting" | "serving" | "draining"

export interface ReadinessReport {
  readonly ready: boolean
  readonly listener: ListenerState
  /** The results of the checks, by name. */
  readonly checks: Readonly<Record<string, "ok" | "failed" | "timeout">>
}

/** The timeout of a check. It is shorter than the few seconds after which a load balancer's probe fails. */
const checkTimeout = Duration.seconds(1)

/** The readiness of this process for requests of a load balancer. Layers add the checks of their dependencies. */
export class Readiness extends Context.Service<
  Readiness,
  {
    /** Adds a check until the scope closes. A check that takes longer than a second fails. */
    readonly add: (name: string, check: Effect.Effect<unknown, unknown>) => Effect.Effect<void, never, Scope.Scope>
    readonly setListener: (state: ListenerState) => Effect.Effect<void>
    readonly report: Effect.Effect<ReadinessReport>
  }
>()("quarry/services/Readiness") {
  static readonly layer = Layer.sync(Readiness, () => {
    const checks = new Map<string, Effect.Effect<unknown, unknown>>()
    let listener: ListenerState = "starting"

    // Runs in a fiber of its own and does not wait for its interruption: a driver may take seconds to cancel a statement.
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
