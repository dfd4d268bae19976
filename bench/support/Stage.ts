import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Console, Deferred, Effect, Scope } from "effect"
import { targets } from "../../src/domain/Target.ts"
import { customer, type Store } from "../../test/torture/support/Store.ts"
import * as Subprocess from "../../test/torture/support/Subprocess.ts"
import { cpuMs } from "./Cpu.ts"
import * as Customers from "./Customers.ts"
import type { Job } from "./Job.ts"
import * as Load from "./Load.ts"
import type { Cpu, Measurement } from "./Measurement.ts"
import * as Stores from "./Stores.ts"
import * as Subject from "./Subject.ts"
import { makeTally } from "./Tally.ts"

/** How much is measured. */
export interface Scale {
  readonly name: "full" | "short"
  /** Of one run. */
  readonly seconds: number
  /** Before the first run of each subject. */
  readonly warmUpSeconds: number
  /** Runs of each subject. */
  readonly pairs: number
  /** Accounts that searches are spread over. */
  readonly accounts: number
  /** Searches over which memory is watched. */
  readonly memorySearches: number
  /** Times that a process is started. */
  readonly starts: number
  /** Replicas beside each other. */
  readonly replicas: ReadonlyArray<number>
  /** Accounts in the growth table. */
  readonly accountCounts: ReadonlyArray<number>
  /** Searches in the log before the first one that is measured. */
  readonly logSizes: ReadonlyArray<number>
}

export const full: Scale = {
  name: "full",
  seconds: 10,
  warmUpSeconds: 5,
  pairs: 5,
  accounts: 1000,
  memorySearches: 200_000,
  starts: 7,
  replicas: [1, 2, 4],
  accountCounts: [1, 1000],
  logSizes: [0, 1_000_000]
}

/** What takes many minutes more. */
export const large = { accountCounts: [1, 1000, 100_000], logSizes: [0, 1_000_000, 10_000_000] }

/** A look at whether everything runs: its figures say nothing. */
export const short: Scale = {
  name: "short",
  seconds: 0.2,
  warmUpSeconds: 0.1,
  pairs: 1,
  accounts: 5,
  memorySearches: 100,
  starts: 1,
  replicas: [1, 2],
  accountCounts: [1],
  logSizes: [1000]
}

/** What every scenario stands on. */
export interface Stage {
  readonly scale: Scale
  readonly stores: Stores.Stores
  readonly load: Load.Load
  readonly ground: Subject.Ground
  readonly baselineGround: Subject.Ground
  readonly store: Store
  /** The same in both databases. The first one is the hot one. */
  readonly secrets: ReadonlyArray<string>
  /** Those of the same accounts. */
  readonly accountIds: ReadonlyArray<string>
  /** Keys that are refused. */
  readonly refused: { readonly withoutCredits: string; readonly slow: string }
  /** Started when first asked for, and there until the end. */
  readonly quarry: Effect.Effect<Subject.Subject>
  readonly baseline: Effect.Effect<Subject.Subject>
  readonly baselineStatements: Effect.Effect<Subject.Subject>
  /** A database of the baseline's in which nobody has searched yet. */
  readonly freshBaseline: Effect.Effect<Subject.Ground>
}

const stubProgram = fileURLToPath(new URL("stub.ts", import.meta.url))

const stub = Effect.gen(function* () {
  const port = yield* Deferred.make<string>()
  yield* Subprocess.start(process.execPath, [stubProgram], {
    onLine: (line) => void Deferred.doneUnsafe(port, Effect.succeed(line))
  })
  return `http://127.0.0.1:${yield* Deferred.await(port)}`
})

/** As many calls in flight as the listener takes requests: a smaller bound would be measured instead of the service. */
const providerConcurrency = 1024

const providerFile = (stubUrl: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-bench-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
    ),
    (directory) => {
      const path = join(directory, "providers.json")
      const route = [{ provider: "stub", engine: "google" }]
      const providers = { stub: { type: "searxng", url: stubUrl, concurrency: providerConcurrency } }
      writeFileSync(path, JSON.stringify({ providers, targets: Object.fromEntries(targets.map((it) => [it, route])) }))
      return path
    }
  )

/** What a scenario starts for itself, on a database that only it fills. */
export const alone = Effect.fnUntraced(function* (
  stage: Stage,
  name: string,
  accounts: number,
  prepare: (databaseUrl: string) => Effect.Effect<void> = () => Effect.void
) {
  const databaseUrl = yield* stage.stores.database(name)
  yield* Effect.scoped(Customers.inQuarry(databaseUrl, 0))
  yield* prepare(databaseUrl)
  const { customers } = yield* Customers.inQuarry(databaseUrl, accounts)
  const subject = yield* Subject.quarry({ ...stage.ground, databaseUrl })
  return { subject, secrets: customers.map(({ secret }) => secret) }
})

/** A database of Quarry's with customers in it, and databases of the baseline's with the same. */
const databases = Effect.fnUntraced(function* (stores: Stores.Stores, accounts: number) {
  const databaseUrl = yield* stores.database("quarry_bench")
  const { customers, store } = yield* Customers.inQuarry(databaseUrl, accounts)
  const withoutCredits = { ...(yield* customer(store, { quota: 0 })), quota: 0 }
  const slow = { ...(yield* customer(store, { quota: 1_000_000_000, concurrency: 1 })), concurrency: 1 }
  let made = 0
  const freshBaseline = Effect.gen(function* () {
    const url = yield* stores.database(`quarry_bench_baseline_${++made}`)
    yield* Customers.inBaseline(url, [...customers, withoutCredits, slow])
    return url
  })
  return {
    databaseUrl,
    freshBaseline,
    store,
    secrets: customers.map(({ secret }) => secret),
    accountIds: customers.map(({ accountId }) => accountId),
    refused: { withoutCredits: withoutCredits.secret, slow: slow.secret }
  }
})

export const make = Effect.fnUntraced(function* (scale: Scale): Effect.fn.Return<Stage, Stores.CannotRun, Scope.Scope> {
  const scope = yield* Effect.scope
  const stores = yield* Stores.start
  yield* Console.error(`Making ${scale.accounts} accounts`)
  const { databaseUrl, freshBaseline, ...customers } = yield* Effect.orDie(databases(stores, scale.accounts))
  const stubUrl = yield* stub
  const ground: Subject.Ground = {
    databaseUrl,
    redisUrl: stores.redisUrl,
    stubUrl,
    providerFile: yield* providerFile(stubUrl)
  }
  const freshBaselineGround = Effect.map(freshBaseline, (databaseUrl) => ({ ...ground, databaseUrl }))
  const baselineGround = yield* freshBaselineGround
  const once = <E>(start: Effect.Effect<Subject.Subject, E, Scope.Scope>) =>
    Effect.cached(Effect.orDie(Effect.provideService(start, Scope.Scope, scope)))
  return {
    scale,
    stores,
    load: yield* Load.start,
    ground,
    baselineGround,
    ...customers,
    freshBaseline: freshBaselineGround,
    quarry: yield* once(Subject.quarry(ground)),
    baseline: yield* once(Subject.baseline(baselineGround, "transactions")),
    baselineStatements: yield* once(Subject.baseline(baselineGround, "statements"))
  }
})

/** Of the processes that a search goes through; the stub and the load are left out. */
const cpuOf = ({ stores }: Stage, subject: Subject.Subject) => {
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

/** What load is made of, but for where it goes. */
export type Work = Omit<Job, "urls" | "seconds">

/** One run. A search is one row of a batch, and one request else. */
export const measure = Effect.fnUntraced(function* (
  stage: Stage,
  subject: Subject.Subject,
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

/** The same of something that this process does, a bounded number at once; `service` is the process's own CPU time. */
export const measureInProcess = Effect.fnUntraced(function* <E>(
  stage: Stage,
  how: { readonly subject: string; readonly pair: number; readonly inFlight: number; readonly seconds: number },
  one: (n: number) => Effect.Effect<unknown, E>
) {
  yield* stage.stores.settle
  const here: Subject.Subject = { name: how.subject, urls: [], pids: [] }
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

/** The same work for each subject in turn, over and over: A B A B …, after each has been warmed up. */
export const alternate = Effect.fnUntraced(function* (
  stage: Stage,
  subjects: ReadonlyArray<Subject.Subject>,
  work: Work,
  variant = ""
) {
  const { pairs, warmUpSeconds } = stage.scale
  for (const subject of subjects) yield* measure(stage, subject, work, { variant, pair: 0, seconds: warmUpSeconds })
  const measurements: Array<Measurement> = []
  for (let pair = 1; pair <= pairs; pair++) {
    for (const subject of subjects) measurements.push(yield* measure(stage, subject, work, { variant, pair }))
  }
  return measurements
})
