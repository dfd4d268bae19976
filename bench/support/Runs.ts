import { Effect } from "effect"
import { cpuMs } from "./Cpu.ts"
import type { Job } from "./Job.ts"
import type { Cpu, Measurement } from "./Measurement.ts"
import type { Stage } from "./Stage.ts"
import type { Subject } from "./Subject.ts"
import { makeTally } from "./Tally.ts"

/** CPU time of the processes that handle a search, without the stub and the load generator. */
const cpuOf = ({ stores }: Stage, subject: Subject) => {
  const { postgres, redis } = stores.pids
  return {
    service: subject.pids.reduce((sum, pid) => sum + cpuMs(pid), 0),
    postgres: postgres === undefined ? undefined : cpuMs(postgres),
    redis: redis === undefined ? undefined : cpuMs(redis)
  }
}

type Times = ReturnType<typeof cpuOf>

const cpuEach = (before: Times, after: Times, count: number): Cpu => {
  const each = (name: keyof Times) => {
    const [from, to] = [before[name], after[name]]
    return from === undefined || to === undefined ? undefined : (to - from) / count
  }
  const [service = 0, postgres, redis] = [each("service"), each("postgres"), each("redis")]
  return { service, postgres, redis, total: service + (postgres ?? 0) + (redis ?? 0) }
}

/** A job without its target and duration. */
export type Work = Omit<Job, "urls" | "seconds">

/** One run. Each row of a batch counts as a search, and so does each other request. */
export const measure = Effect.fnUntraced(function* (
  stage: Stage,
  subject: Subject,
  work: Work,
  told: { readonly variant: string; readonly pair: number; readonly seconds?: number }
) {
  yield* stage.stores.settle
  const before = cpuOf(stage, subject)
  const outcome = yield* stage.load.run({ ...work, urls: subject.urls, seconds: told.seconds ?? stage.scale.seconds })
  const after = cpuOf(stage, subject)
  const searches = outcome.requests * (work.rows ?? 1)
  const measurement: Measurement = {
    subject: subject.name,
    variant: told.variant,
    pair: told.pair,
    searches,
    perSecond: searches / outcome.seconds,
    latencyMs: outcome.latencyMs,
    cpu: cpuEach(before, after, searches),
    statuses: outcome.statuses,
    errors: outcome.errors
  }
  return measurement
})

/** The same for work in this process, with limited concurrency. `service` is this process's CPU time. */
export const measureInProcess = Effect.fnUntraced(function* <E>(
  stage: Stage,
  how: { readonly subject: string; readonly pair: number; readonly inFlight: number; readonly seconds: number },
  one: (n: number) => Effect.Effect<unknown, E>
) {
  yield* stage.stores.settle
  const here: Subject = { name: how.subject, urls: [], pids: [] }
  const before = { ...cpuOf(stage, here), service: ownCpuMs() }
  const tally = makeTally()
  const endsAt = performance.now() + how.seconds * 1000
  let next = 0
  const worker = Effect.gen(function* () {
    while (performance.now() < endsAt) {
      const startedAt = performance.now()
      yield* one(next++)
      tally.answered(200, performance.now() - startedAt)
    }
  })
  yield* Effect.all(
    Array.from({ length: how.inFlight }, () => worker),
    { concurrency: "unbounded" }
  )
  const { errors, latencyMs, requests, seconds } = tally.outcome()
  const after = { ...cpuOf(stage, here), service: ownCpuMs() }
  const measurement: Measurement = {
    subject: how.subject,
    variant: "",
    pair: how.pair,
    searches: requests,
    perSecond: requests / seconds,
    latencyMs,
    cpu: cpuEach(before, after, requests),
    statuses: {},
    errors
  }
  return measurement
})

const ownCpuMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

/** Time limit for warming up a process. With a slow stub, this many searches would take many minutes. */
const maxWarmUpRuns = 8

/**
 * Runs the work until the subject's code is compiled, or, if it is already compiled, until its caches are warm. Paced
 * work runs at full speed here, because the benchmark measures searches and not the compiler.
 */
const warmUp = Effect.fnUntraced(function* (stage: Stage, subject: Subject, work: Work) {
  const { warmUpSearches, warmUpSeconds } = stage.scale
  const cold = subject.pids.filter((pid) => !stage.warm.has(pid))
  const hard: Work = { ...work, shape: { kind: "closed", connections: 64 } }
  const told = { variant: "", pair: 0, seconds: warmUpSeconds }
  const coldProcesses = cold.length === 0 ? 0 : (subject.processes ?? cold.length)
  let left = coldProcesses * warmUpSearches
  for (let runs = 0; left > 0 && runs < coldProcesses * maxWarmUpRuns; runs++) {
    left -= (yield* measure(stage, subject, work.shape.kind === "paced" ? hard : work, told)).searches
  }
  yield* measure(stage, subject, work, told)
  for (const pid of cold) stage.warm.add(pid)
})

/** Rotates the order, because the first subject of a round runs on the state that the last round left. */
const rotated = <A>(items: ReadonlyArray<A>, by: number): ReadonlyArray<A> => {
  const first = by % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

/** Runs the same work for each subject in alternating rounds (A B C, B C A, …), after warming up each. */
export const alternate = Effect.fnUntraced(function* (
  stage: Stage,
  subjects: ReadonlyArray<Subject>,
  work: Work,
  variant = ""
) {
  const { pairs } = stage.scale
  for (const subject of subjects) yield* warmUp(stage, subject, work)
  const measurements: Array<Measurement> = []
  for (let pair = 1; pair <= pairs; pair++) {
    for (const subject of rotated(subjects, pair - 1)) {
      measurements.push(yield* measure(stage, subject, work, { variant, pair }))
    }
  }
  return measurements
})
