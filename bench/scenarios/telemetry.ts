import { Effect } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import type { Scenario } from "../Scenario.ts"
import { residentMb } from "../support/Cpu.ts"
import { differences, type Figure, type Measurement, median, ratios } from "../support/Measurement.ts"
import { alternate, type Work } from "../support/Runs.ts"
import { type Stage, sink } from "../support/Stage.ts"
import * as Subject from "../support/Subject.ts"
import { distinctSearches } from "./search.ts"

const off = "off"

interface Observed extends Subject.Subject {
  readonly adminUrl: string
  readonly pid: number
}

/** Starts a replica with its own name. */
const observed = Effect.fnUntraced(function* (stage: Stage, name: string, env: Readonly<Record<string, string>>) {
  const { adminUrl, pid, url } = yield* Subject.quarryReplica(stage.ground, env)
  const subject: Observed = { name, urls: [url], pids: [pid], pid, adminUrl }
  return subject
})

const everyTrace = { OTEL_TRACES_SAMPLER: "always_on" }

/** Limits for throughput and CPU time, as ratios to the service with telemetry off. */
const wanted = [
  { name: "default sampling", perSecond: 0.92, cpu: 1.09 },
  { name: "every trace", perSecond: 0.8, cpu: 1.25 }
]

/** Dropped spans, as the process reports them. */
const dropped = ({ adminUrl }: Observed) =>
  Effect.promise(async () => {
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
    const counts = metrics.matchAll(/^quarry_telemetry_dropped_total\{[^}]*signal="traces"[^}]*\} (\d+)/gm)
    return Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0)
  })

export const tracing: Scenario = {
  name: "tracing",
  measures: "a search, the stub at 0 ms, 64 connections, all accounts, with telemetry off and on",
  run: (stage) =>
    Effect.gen(function* () {
      const collector = yield* sink
      const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector}/v1/traces` }
      const subjects = [
        yield* observed(stage, off, {}),
        yield* observed(stage, "default sampling", traces),
        yield* observed(stage, "every trace", { ...traces, ...everyTrace }),
        yield* observed(stage, "every trace, metrics, logs", { OTEL_EXPORTER_OTLP_ENDPOINT: collector, ...everyTrace })
      ]
      const measurements = yield* alternate(stage, subjects, distinctSearches(stage))
      const share = (name: string, figure: (measurement: Measurement) => number) =>
        median(ratios(measurements, "", [name, off], figure))
      const figures: Array<Figure> = []
      for (const subject of subjects.slice(1)) {
        const { name } = subject
        const asked = wanted.find((it) => it.name === name)
        figures.push(
          {
            name: `searches a second, ${name}`,
            value: share(name, ({ perSecond }) => perSecond),
            unit: "×",
            ...(asked === undefined ? {} : { wanted: { atLeast: asked.perSecond } })
          },
          {
            name: `CPU of the service for a search, ${name}`,
            value: share(name, ({ cpu }) => cpu.service),
            unit: "×",
            ...(asked === undefined ? {} : { wanted: { atMost: asked.cpu } })
          },
          // Dropped spans cost less than sent spans, so a result with many of them is too low.
          { name: `spans dropped, ${name}`, value: yield* dropped(subject), unit: "" }
        )
      }
      return { measurements, figures }
    })
}

/** Well within the capacity of a core, with as many spans as 200 searches. */
const perSecond = 700
const servedPerSecond = 200
/** The most that an unhealthy collector may add to the slowest of a hundred requests, compared with a healthy one. */
const addedMs = 1
const healthy = "healthy"

/** Rejected because of the form of its key: two spans, and no waits whose tail latency would hide the difference. */
const refusals = (stage: Stage): Work => ({
  ...distinctSearches(stage),
  secrets: ["no key"],
  shape: { kind: "paced", perSecond }
})

const served = (stage: Stage): Work => ({
  ...distinctSearches(stage),
  shape: { kind: "paced", perSecond: servedPerSecond }
})

export const collector: Scenario = {
  name: "collector",
  measures: `${perSecond} refusals and ${servedPerSecond} searches a second, every trace kept, with collectors that are well and not`,
  run: (stage) =>
    Effect.gen(function* () {
      const url = yield* sink
      const kept = (name: string, endpoint: string) =>
        observed(stage, name, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...everyTrace })
      const sick = [
        yield* kept("refused", `http://127.0.0.1:${yield* freePort}`),
        yield* kept("hanging", `${url}/hanging`),
        yield* kept("slow", `${url}/slow`)
      ]
      const subjects = [yield* observed(stage, off, {}), yield* kept(healthy, url), ...sick]
      const once: Stage = { ...stage, scale: { ...stage.scale, pairs: 1 } }
      // Warms up first, so that any later growth is memory held for the collector.
      yield* alternate(once, subjects, served(stage))
      const before = subjects.map(({ pid }) => residentMb(pid))
      const measurements = [
        ...(yield* alternate(stage, subjects, refusals(stage), "401")),
        ...(yield* alternate(once, subjects, served(stage), "served"))
      ]
      const figures: Array<Figure> = []
      for (const [index, subject] of subjects.entries()) {
        const { name, pid } = subject
        figures.push({ name: `${name}: memory grew by`, value: residentMb(pid) - (before[index] ?? 0), unit: "MB" })
        if (name === off) continue
        const isSick = sick.includes(subject)
        const control = isSick ? healthy : off
        const added = differences(measurements, "401", [name, control], ({ latencyMs }) => latencyMs.p99)
        figures.push(
          {
            name: `${name}: adds to p99 of a 401, beside ${control}`,
            value: median(added),
            unit: "ms",
            ...(isSick ? { wanted: { atMost: addedMs } } : {})
          },
          {
            name: `${name}: spans dropped and counted`,
            value: yield* dropped(subject),
            unit: "",
            wanted: isSick ? { atLeast: 1 } : { atMost: 0 }
          }
        )
      }
      return { measurements, figures }
    })
}
