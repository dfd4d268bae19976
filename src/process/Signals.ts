import { Duration, Effect, Layer } from "effect"

const signals = ["SIGTERM", "SIGINT"] as const

/** The exit codes that a shell expects of a process that a signal ended. */
const exitCode = { SIGTERM: 143, SIGINT: 130 } as const

/** The time for an orderly end, even where requests are to be cut off at once. */
const minGrace = Duration.seconds(1)

/**
 * Bounds a shutdown, which the first SIGTERM or SIGINT starts by interrupting the main fiber. When `grace` has passed,
 * or at a second signal, the process ends at once: a finalizer that hangs on a dead database must not keep an
 * orchestrator waiting. Holds that are left open end with their leases.
 */
export const layer = (options: { readonly grace: Duration.Duration }): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.acquireRelease(
      Effect.sync(() => {
        let stopping = false
        const onSignal = (signal: (typeof signals)[number]): void => {
          if (stopping) process.exit(exitCode[signal])
          stopping = true
          setTimeout(
            () => {
              process.stderr.write(`quarry: the shutdown took longer than ${Duration.format(options.grace)}\n`)
              process.exit(1)
            },
            Duration.toMillis(Duration.max(options.grace, minGrace))
          ).unref()
        }
        for (const signal of signals) process.on(signal, onSignal)
        return onSignal
      }),
      (onSignal) =>
        Effect.sync(() => {
          for (const signal of signals) process.off(signal, onSignal)
        })
    )
  )
