import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Metric } from "effect"

const gauge = (name: string, description: string) => Metric.gauge(`quarry.process.${name}`, { description })

const residentBytes = gauge("memory.resident.bytes", "Memory of the process that is in RAM")
const heapBytes = gauge("memory.heap.bytes", "Memory that JavaScript objects take")
const loopDelayMean = gauge("event_loop.delay.mean.seconds", "Delay of the event loop since the last scrape, mean")
const loopDelayMax = gauge("event_loop.delay.max.seconds", "Delay of the event loop since the last scrape, highest")

const resolutionMs = 20

/** Reads the process's own figures into gauges. Run before each scrape: nothing is measured for nobody. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const delay = monitorEventLoopDelay({ resolution: resolutionMs })
      delay.enable()
      return delay
    }),
    (delay) => Effect.sync(() => delay.disable())
  ),
  (delay) =>
    Effect.gen(function* () {
      const { heapUsed, rss } = process.memoryUsage()
      yield* Metric.update(residentBytes, rss)
      yield* Metric.update(heapBytes, heapUsed)
      // Nanoseconds, the sampling interval included; without a sample the mean is NaN.
      const seconds = (nanos: number) => Math.max(0, (nanos || 0) / 1e9 - resolutionMs / 1000)
      yield* Metric.update(loopDelayMean, seconds(delay.mean))
      yield* Metric.update(loopDelayMax, seconds(delay.max))
      delay.reset()
    })
)
