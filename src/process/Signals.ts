import { Context, Duration, Effect, Layer } from "effect"

const signals = ["SIGTERM", "SIGINT"] as const

export type Signal = (typeof signals)[number]

/** The exit codes that a shell expects of a process that a signal ended. */
const exitCode = { SIGTERM: 143, SIGINT: 130 } as const

/** The time for an orderly end, even where requests are to be cut off at once. */
const minGrace = Duration.seconds(1)

/** The signal that started the shutdown; undefined before it. */
export const FirstSignal = Context.Reference<() => Signal | undefined>("quarry/process/FirstSignal", {
  defaultValue: () => () => undefined
})

/**
 * Bounds a shutdown, which the first SIGTERM or SIGINT starts by interrupting the main fiber. When `grace` has passed,
 * or at a second signal, the process ends at once: a finalizer that hangs on a dead database must not keep an
 * orchestrator waiting. Holds that are left open end with their leases.
 */
export const layer = (options: {
  readonly grace: Duration.Duration
  /** False in a worker: it gets the signals of its supervisor, and at a terminal those of the process group too. */
  readonly endsAtSecond: boolean
}): Layer.Layer<never> =>
  Layer.effect(
    FirstSignal,
    Effect.gen(function* () {
      let first: Signal | undefined
      const onSignal = (signal: Signal) => {
        if (first !== undefined) return options.endsAtSecond ? process.exit(exitCode[signal]) : undefined
        first = signal
        setTimeout(
          () => {
            process.stderr.write(`quarry: the shutdown took longer than ${Duration.format(options.grace)}\n`)
            process.exit(1)
          },
          Duration.toMillis(Duration.max(options.grace, minGrace))
        ).unref()
      }
      for (const signal of signals) {
        const listener = () => onSignal(signal)
        yield* Effect.acquireRelease(
          // Before the listener that interrupts the main fiber, whose finalizers ask for the signal.
          Effect.sync(() => process.prependListener(signal, listener)),
          () => Effect.sync(() => process.off(signal, listener))
        )
      }
      return () => first
    })
  )
