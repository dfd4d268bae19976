import { Effect, type Scope } from "effect"
import type { Scenario } from "../Scenario.ts"
import { residentMb } from "../support/Cpu.ts"
import { type Figure, type Measurement, median } from "../support/Measurement.ts"
import { alternate, measure, type Work } from "../support/Runs.ts"
import type { Stage } from "../support/Stage.ts"
import { watchStatements } from "../support/Stores.ts"
import * as Subject from "../support/Subject.ts"
import { distinctSearches } from "./search.ts"

const wanted = { startMs: 2000, residentMb: 350, growthPercent: 5 }

/** Times the first search of a new process, with no compiled code and no open connections. */
const firstSearch = (url: string, secret: string) =>
  Effect.promise(async () => {
    const startedAt = performance.now()
    const headers = { authorization: `Bearer ${secret}` }
    const response = await fetch(`${url}/v1/query?query=first+${startedAt}`, { headers })
    await response.text()
    if (response.status !== 200) throw new Error(`the first search was answered ${response.status}`)
    return performance.now() - startedAt
  })

export const start: Scenario = {
  name: "start",
  measures: "from a process's start until it is ready, on a migrated database, and its first search",
  run: (stage) =>
    Effect.gen(function* () {
      const times = <E>(start: Effect.Effect<Subject.Started, E, Scope.Scope>) =>
        Effect.replicateEffect(
          Effect.scoped(
            Effect.gen(function* () {
              const { startMs, url } = yield* start
              return { startMs, firstMs: yield* firstSearch(url, `${stage.secrets[0]}`) }
            })
          ),
          stage.scale.starts
        )
      const startsOf = (all: ReadonlyArray<{ readonly startMs: number }>) => all.map(({ startMs }) => startMs)
      const firstsOf = (all: ReadonlyArray<{ readonly firstMs: number }>) => all.map(({ firstMs }) => firstMs)
      const quarry = yield* times(Subject.quarryReplica(stage.ground))
      const baseline = yield* times(Subject.baselineProcess(stage.baselineGround, "transactions"))
      return {
        figures: [
          { name: "quarry, median", value: median(startsOf(quarry)), unit: "ms", wanted: { atMost: wanted.startMs } },
          { name: "quarry, slowest", value: Math.max(...startsOf(quarry)), unit: "ms" },
          { name: "baseline, median", value: median(startsOf(baseline)), unit: "ms" },
          { name: "quarry, first search after a start, median", value: median(firstsOf(quarry)), unit: "ms" },
          { name: "baseline, first search after a start, median", value: median(firstsOf(baseline)), unit: "ms" }
        ]
      }
    })
}

/** The increase from the first to the last value along the best-fitting line, in percent of the mean. */
export const growthPercent = (values: ReadonlyArray<number>): number => {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const covariance = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0)
  const variance = values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0)
  return variance === 0 ? 0 : ((covariance / variance) * (values.length - 1) * 100) / mean
}

const residentOf = ({ pids }: Subject.Subject): number => pids.reduce((sum, pid) => sum + residentMb(pid), 0)

/** Resident memory after each stretch of a load. The load continues until `isDone`. */
const watched = Effect.fnUntraced(function* (
  stage: Stage,
  work: Work,
  isDone: (progress: { readonly searches: number; readonly seconds: number }) => boolean
) {
  const subject = yield* Subject.quarry(stage.ground)
  const samples: Array<{ readonly searches: number; readonly mb: number }> = []
  const startedAt = performance.now()
  let searches = 0
  while (!isDone({ searches, seconds: (performance.now() - startedAt) / 1000 })) {
    const seconds = Math.min(stage.scale.seconds, 5)
    searches += (yield* measure(stage, subject, work, { variant: "", pair: 1, seconds })).searches
    samples.push({ searches, mb: residentOf(subject) })
  }
  const atMost = Math.max(...samples.map(({ mb }) => mb))
  const lastHalf = samples.filter((sample) => sample.searches >= searches / 2).map(({ mb }) => mb)
  return { searches, atMost, atEnd: samples.at(-1)?.mb ?? Number.NaN, growth: growthPercent(lastHalf) }
}, Effect.scoped)

const batchRows = 50

export const memory: Scenario = {
  name: "memory",
  measures:
    "resident memory of a new process over 200,000 searches, 64 connections; and over five minutes of batches of 50, 512 connections",
  run: (stage) =>
    Effect.gen(function* () {
      const { memoryBatchConnections, memoryBatchSeconds, memorySearches } = stage.scale
      const single = yield* watched(stage, distinctSearches(stage), ({ searches }) => searches >= memorySearches)
      const batches = yield* watched(
        stage,
        { ...distinctSearches(stage, memoryBatchConnections), rows: batchRows },
        ({ seconds }) => seconds >= memoryBatchSeconds
      )
      const figuresOf = (what: string, { atEnd, atMost, growth, searches }: typeof single) => [
        { name: `${what}: searches`, value: searches, unit: "" },
        { name: `${what}: resident at most`, value: atMost, unit: "MB", wanted: { atMost: wanted.residentMb } },
        { name: `${what}: resident at the end`, value: atEnd, unit: "MB" },
        {
          name: `${what}: growth over the last half`,
          value: growth,
          unit: "%",
          wanted: { atMost: wanted.growthPercent }
        }
      ]
      return {
        figures: [...figuresOf("searches", single), ...figuresOf("batches", batches)]
      }
    })
}

export const replicas: Scenario = {
  name: "replicas",
  measures: "a search, the stub at 0 ms, 64 connections, all accounts, replicas beside each other on this machine",
  run: (stage) =>
    Effect.gen(function* () {
      const subjects = yield* Effect.forEach(stage.scale.replicas, (replicas) =>
        Subject.quarry(stage.ground, { replicas })
      )
      const measurements = yield* alternate(stage, subjects, distinctSearches(stage))
      const perSecond = ({ name }: Subject.Subject) =>
        median(measurements.filter(({ subject }) => subject === name).map((run) => run.perSecond))
      const figures = subjects.slice(1).map((subject, index) => ({
        name: `searches a second: ${subject.name}, of ${subjects[index]?.name}`,
        value: perSecond(subject) / perSecond(subjects[index] ?? subject),
        unit: "×",
        wanted: { atLeast: 1 }
      }))
      return { measurements, figures }
    })
}

/** All processes share the machine's cores here, so the cost per search says more than the throughput. */
export const workers: Scenario = {
  name: "workers",
  measures: "a search, the stub at 0 ms, 64 connections, all accounts, one service of several processes",
  run: (stage) =>
    Effect.gen(function* () {
      const measurements: Array<Measurement> = []
      const figures: Array<Figure> = []
      for (const processes of stage.scale.workers) {
        const run = Effect.gen(function* () {
          const subject = yield* Subject.workers(stage.ground, processes)
          yield* alternate({ ...stage, scale: { ...stage.scale, pairs: 0 } }, [subject], distinctSearches(stage))
          return yield* watchStatements(stage.ground.databaseUrl, alternateWarm(stage, subject))
        })
        const { statements, value: runs, waits } = yield* Effect.scoped(run)
        measurements.push(...runs)
        const searches = runs.reduce((sum, run) => sum + run.searches, 0)
        const of = `WORKERS=${processes}`
        figures.push(
          {
            name: `searches a second that one core of Postgres carries, ${of}`,
            value: 1000 / median(runs.map(({ cpu }) => cpu.postgres ?? Number.NaN)),
            unit: ""
          },
          { name: `statements for a search, ${of}`, value: statements / searches, unit: "" },
          { name: `sessions that wait for another's rows, on average, ${of}`, value: waits.rows, unit: "" },
          { name: `sessions that wait for the write-ahead log, on average, ${of}`, value: waits.log, unit: "" }
        )
      }
      return { measurements, figures }
    })
}

const alternateWarm = Effect.fnUntraced(function* (stage: Stage, subject: Subject.Subject) {
  const measurements: Array<Measurement> = []
  for (let pair = 1; pair <= stage.scale.pairs; pair++) {
    measurements.push(yield* measure(stage, subject, distinctSearches(stage), { variant: "", pair }))
  }
  return measurements
})
