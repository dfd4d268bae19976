import { closeSync, openSync, readdirSync, readFileSync } from "node:fs"
import { devNull } from "node:os"
import { Clock, Duration, Effect, Layer, Metric, Predicate, Schedule } from "effect"
import { counter, gauge, observe } from "../../services/telemetry/Instrument.ts"

const count = gauge("quarry.process.file_descriptor.open", {
  description: "Open file descriptors",
  unit: "{file_descriptor}",
  across: "sum"
})

const limit = gauge("quarry.process.file_descriptor.limit", {
  description: "Maximum number of open file descriptors",
  unit: "{file_descriptor}",
  across: "sum"
})

const exhausted = counter("quarry.process.file_descriptor.exhausted", {
  description: "Checks, one per second, that found no free file descriptor: new connections are closed",
  unit: "{check}"
})

const checkInterval = Duration.seconds(1)

const logInterval = Duration.minutes(1)

/** The limit on open files. Undefined on systems without this file. */
const limitOf = (): number | undefined => {
  try {
    const text = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
    return text === undefined ? undefined : Number(text)
  } catch {
    return undefined
  }
}

const isExhaustion = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && (error.code === "EMFILE" || error.code === "ENFILE")

/** Includes the descriptor for this read. Fails when none is left. */
const countOpen = (max: number): number => {
  try {
    return readdirSync("/proc/self/fd").length - 1
  } catch (error) {
    return isExhaustion(error) ? max : 0
  }
}

const isExhausted = (): boolean => {
  try {
    closeSync(openSync(devNull, "r"))
    return false
  } catch (error) {
    return isExhaustion(error)
  }
}

const watch = Effect.gen(function* () {
  let loggedAt: number | undefined
  const check = Effect.gen(function* () {
    if (!isExhausted()) {
      if (loggedAt !== undefined) yield* Effect.logInfo("The process has file descriptors again.")
      loggedAt = undefined
      return
    }
    yield* Metric.update(exhausted.of(), 1)
    const now = yield* Clock.currentTimeMillis
    if (loggedAt !== undefined && now - loggedAt < Duration.toMillis(logInterval)) return
    loggedAt = now
    yield* Effect.logError(
      "The process has no file descriptors left, so it cannot accept or open connections. Raise the " +
        "limit (ulimit -n, LimitNOFILE), or start more replicas."
    )
  })
  yield* Effect.forkScoped(Effect.repeat(check, Schedule.spaced(checkInterval)))
})

/** Without a free descriptor, Node accepts connections and closes them at once, with no event or error. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* Metric.update(exhausted.of(), 0)
    const max = limitOf()
    if (max !== undefined) {
      yield* Metric.update(limit.of(), max)
      yield* observe(count.of(), () => countOpen(max))
    }
    yield* watch
  })
)
