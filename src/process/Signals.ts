import { Clock, Context, Duration, Effect, Layer } from "effect"

const signals = ["SIGTERM", "SIGINT"] as const

export type Signal = (typeof signals)[number]

/** The exit codes that a shell expects of a process that a signal ended. */
const exitCode = { SIGTERM: 143, SIGINT: 130 } as const

/** The time for an orderly end, even where requests are to be cut off at once. */
const minGrace = Duration.seconds(1)

/**
 * The first signal again within this time is the same one. npm forwards the signals that its process group gets, so a
 * service manager that signals the group, or Ctrl-C at a terminal, delivers each of them twice (R54).
 */
const repeatWindow = Duration.seconds(2)

/** The signal that started the shutdown; undefined before it. */
export const FirstSignal = Context.Reference<() => Signal | undefined>("quarry/process/FirstSignal", {
  defaultValue: () => () => undefined
})

export type Reaction = "begin shutdown" | "ignore" | "end at once"

/** Decides what to do about each signal, by the signals before it and by the clock. */
export const makeReactions = Effect.map(Clock.Clock, (clock) => {
  let first: { readonly signal: Signal; readonly atNanos: bigint } | undefined
  return {
    firstSignal: () => first?.signal,
    reactTo: (signal: Signal): Reaction => {
      const atNanos = clock.monotonicTimeNanosUnsafe()
      if (first === undefined) {
        first = { signal, atNanos }
        return "begin shutdown"
      }
      const isRepeated = signal === first.signal && atNanos - first.atNanos < Duration.toNanosUnsafe(repeatWindow)
      return isRepeated ? "ignore" : "end at once"
    }
  }
})

/** Says how the operator can skip the wait that begins now. */
const announcement = (signal: Signal, grace: Duration.Duration): string => {
  const again = signal === "SIGINT" ? "press Ctrl-C" : "send SIGTERM"
  return (
    `Got ${signal}: accepted requests have up to ${Duration.format(grace)} to finish. ` +
    `To cut them off, ${again} again after ${Duration.format(repeatWindow)}.`
  )
}

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
      const { firstSignal, reactTo } = yield* makeReactions
      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const grace = Duration.max(options.grace, minGrace)
      const beginShutdown = (signal: Signal) => {
        if (options.endsAtSecond) fork(Effect.logInfo(announcement(signal, grace)))
        setTimeout(() => {
          process.stderr.write(`quarry: the shutdown took longer than ${Duration.format(options.grace)}\n`)
          process.exit(1)
        }, Duration.toMillis(grace)).unref()
      }
      const onSignal = (signal: Signal) => {
        const reaction = reactTo(signal)
        if (reaction === "begin shutdown") beginShutdown(signal)
        else if (reaction === "end at once" && options.endsAtSecond) process.exit(exitCode[signal])
      }
      for (const signal of signals) {
        const listener = () => onSignal(signal)
        yield* Effect.acquireRelease(
          // Before the listener that interrupts the main fiber, whose finalizers ask for the signal.
          Effect.sync(() => process.prependListener(signal, listener)),
          () => Effect.sync(() => process.off(signal, listener))
        )
      }
      return firstSignal
    })
  )
