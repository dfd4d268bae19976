import { Clock, Context, Duration, Effect, Layer } from "effect"

const signals = ["SIGTERM", "SIGINT"] as const

export type Signal = (typeof signals)[number]

/** 128 plus the signal number, as shells expect. */
const exitCode = { SIGTERM: 143, SIGINT: 130 } as const

/** Leaves time for an orderly exit even if `grace` is zero. */
const minGrace = Duration.seconds(1)

/** npm forwards signals that its process group also gets, so Ctrl-C arrives twice. Both count as one signal (R54). */
const repeatWindow = Duration.seconds(2)

/** The signal that started the shutdown; undefined before that. */
export const FirstSignal = Context.Reference<() => Signal | undefined>("quarry/references/FirstSignal", {
  defaultValue: () => () => undefined
})

export type Reaction = "begin shutdown" | "ignore" | "end at once"

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

const announcement = (signal: Signal, grace: Duration.Duration): string => {
  const again = signal === "SIGINT" ? "press Ctrl-C" : "send SIGTERM"
  return (
    `Got ${signal}: accepted requests have up to ${Duration.format(grace)} to finish. ` +
    `To cut them off, ${again} again after ${Duration.format(repeatWindow)}.`
  )
}

/** After `grace` or at a second signal, exits even if a finalizer hangs. Open holds then expire with their leases. */
export const layer = (options: {
  readonly grace: Duration.Duration
  /** False in a worker: its supervisor and, at a terminal, its process group both signal it. */
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
          // Runs before the listener that interrupts the main fiber, because finalizers read the signal.
          Effect.sync(() => process.prependListener(signal, listener)),
          () => Effect.sync(() => process.off(signal, listener))
        )
      }
      return firstSignal
    })
  )
