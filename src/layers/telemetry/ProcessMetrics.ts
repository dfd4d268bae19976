import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks"
import { Effect, Layer, Metric, Predicate, Schedule } from "effect"
import { version } from "../../domain/version.ts"
import { counter, gauge, histogram, observe } from "../../services/telemetry/Instrument.ts"

const memory = gauge("process.memory.usage", {
  description: "Resident memory of the process",
  unit: "By",
  across: "sum"
})

const heapUsed = gauge("v8js.memory.heap.used", {
  description: "Memory used by JavaScript objects",
  unit: "By",
  across: "sum"
})

const external = gauge("quarry.process.memory.external", {
  description: "Memory of buffers outside the JavaScript heap",
  unit: "By",
  across: "sum"
})

const uptime = gauge("process.uptime", { description: "Age of the process", unit: "s" })

const cpuTime = counter("process.cpu.time", {
  description: "CPU time of all threads",
  unit: "s",
  labels: ["cpu.mode"]
})

const utilization = gauge("nodejs.eventloop.utilization", {
  description: "Share of the last ten seconds in which the event loop was not idle",
  unit: "1"
})

const loopDelay = (what: string, description: string) =>
  gauge(`nodejs.eventloop.delay.${what}`, {
    description: `Delay of the event loop in the last ten seconds, ${description}`,
    unit: "s"
  })

const loopDelayP50 = loopDelay("p50", "median")
const loopDelayP99 = loopDelay("p99", "99th percentile")
const loopDelayMax = loopDelay("max", "highest")

const gcDuration = histogram("v8js.gc.duration", {
  description: "Pauses for garbage collection",
  unit: "s",
  labels: ["v8js.gc.type"],
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
})

const resolutionMs = 20

/** Converts nanoseconds to seconds and subtracts the sampling interval. */
const delaySeconds = (nanos: number): number => Math.max(0, nanos / 1e9 - resolutionMs / 1000)

const gcTypes = new Map<unknown, string>([
  [constants.NODE_PERFORMANCE_GC_MAJOR, "major"],
  [constants.NODE_PERFORMANCE_GC_MINOR, "minor"],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, "incremental"],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, "weakcb"]
])

const gcType = (entry: PerformanceEntry): string =>
  (Predicate.hasProperty(entry, "detail") &&
    Predicate.hasProperty(entry.detail, "kind") &&
    gcTypes.get(entry.detail.kind)) ||
  "other"

const watchGarbageCollection = Effect.flatMap(Effect.context(), (context) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const observer = new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          gcDuration.of(gcType(entry)).updateUnsafe(entry.duration / 1000, context)
        }
      })
      observer.observe({ entryTypes: ["gc"] })
      return observer
    }),
    (observer) => Effect.sync(() => observer.disconnect())
  )
)

/** Measures over fixed windows, so that all readers see the same values. */
const watchEventLoop = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const delay = monitorEventLoopDelay({ resolution: resolutionMs })
      delay.enable()
      return delay
    }),
    (delay) => Effect.sync(() => delay.disable())
  )
  let before = performance.eventLoopUtilization()
  const sample = Effect.gen(function* () {
    const since = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    const [p50, p99, max] = delay.count === 0 ? [0, 0, 0] : [delay.percentile(50), delay.percentile(99), delay.max]
    yield* Metric.update(loopDelayP50.of(), delaySeconds(p50))
    yield* Metric.update(loopDelayP99.of(), delaySeconds(p99))
    yield* Metric.update(loopDelayMax.of(), delaySeconds(max))
    yield* Metric.update(utilization.of(), since.utilization)
    delay.reset()
  })
  yield* Effect.forkScoped(Effect.repeat(sample, Schedule.spaced("10 seconds")))
})

const watchCpu = Effect.gen(function* () {
  let before = { user: 0, system: 0 }
  const sample = Effect.gen(function* () {
    const { system, user } = process.cpuUsage()
    yield* Metric.update(cpuTime.of("user"), (user - before.user) / 1e6)
    yield* Metric.update(cpuTime.of("system"), (system - before.system) / 1e6)
    before = { user, system }
  })
  yield* Effect.forkScoped(Effect.repeat(sample, Schedule.spaced("5 seconds")))
})

const buildInfo = gauge("quarry.build.info", {
  description: "1, with the versions of Quarry and Node, and the commit if it is set",
  unit: "{process}",
  labels: ["version", "commit", "node"]
})

export const build = (commit: string | undefined): Layer.Layer<never> =>
  Layer.effectDiscard(Metric.update(buildInfo.of(version, commit ?? "unknown", process.versions.node), 1))

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* observe(memory.of(), () => process.memoryUsage.rss())
    yield* observe(heapUsed.of(), () => process.memoryUsage().heapUsed)
    yield* observe(external.of(), () => process.memoryUsage().external)
    yield* observe(uptime.of(), () => process.uptime())
    yield* watchCpu
    yield* watchEventLoop
    yield* watchGarbageCollection
  })
)
