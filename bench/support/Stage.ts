import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Console, Deferred, Effect, Scope } from "effect"
import { targets } from "../../src/domain/search/Target.ts"
import { customer, type Store } from "../../torture/support/Store.ts"
import * as Subprocess from "../../torture/support/Subprocess.ts"
import * as Customers from "./Customers.ts"
import * as Load from "./Load.ts"
import type { Scale } from "./Scale.ts"
import * as Stores from "./Stores.ts"
import * as Subject from "./Subject.ts"

/** The environment of every scenario. */
export interface Stage {
  readonly scale: Scale
  readonly stores: Stores.Stores
  readonly load: Load.Load
  readonly ground: Subject.Ground
  readonly baselineGround: Subject.Ground
  readonly store: Store
  /** Keys, the same in both databases. The first one belongs to the hot account. */
  readonly secrets: ReadonlyArray<string>
  /** The ids of the same accounts. */
  readonly accountIds: ReadonlyArray<string>
  /** Processes that have been warmed up. */
  readonly warm: Set<number>
  /** Keys whose requests are rejected. */
  readonly refused: { readonly withoutCredits: string; readonly slow: string }
  /** Started on first use, and kept until the end. */
  readonly quarry: Effect.Effect<Subject.Subject>
  readonly baseline: Effect.Effect<Subject.Subject>
  readonly baselineStatements: Effect.Effect<Subject.Subject>
  readonly floor: Effect.Effect<Subject.Subject>
  /** A database for the baseline without any searches. */
  readonly freshBaseline: Effect.Effect<Subject.Ground, never, Scope.Scope>
}

/** Starts a server in its own process and returns its address. The process prints its port first. */
const server = Effect.fnUntraced(function* (program: string) {
  const port = yield* Deferred.make<string>()
  yield* Subprocess.start(process.execPath, [fileURLToPath(new URL(program, import.meta.url))], {
    onLine: (line) => void Deferred.doneUnsafe(port, Effect.succeed(line))
  })
  return `http://127.0.0.1:${yield* Deferred.await(port)}`
})

/** A fake collector. */
export const sink = server("sink.ts")

/** Matches the listener's limit of requests. With a smaller limit, the benchmark would measure that limit. */
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

/** Starts the servers of a single scenario, on a new database. */
export const alone = Effect.fnUntraced(function* (
  stage: Stage,
  name: string,
  accounts: number,
  prepare: (databaseUrl: string) => Effect.Effect<void> = () => Effect.void
) {
  const databaseUrl = yield* stage.stores.database(name)
  yield* Effect.scoped(Customers.inQuarry(databaseUrl, 0))
  yield* prepare(databaseUrl)
  const secrets = yield* Customers.crowdInQuarry(databaseUrl, accounts)
  const subject = yield* Subject.quarry({ ...stage.ground, databaseUrl })
  return { subject, secrets }
})

/** Creates a Quarry database with customers, and baseline databases with the same customers. */
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
  const stubUrl = yield* server("stub.ts")
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
    warm: new Set(),
    freshBaseline: freshBaselineGround,
    quarry: yield* once(Subject.quarry(ground)),
    baseline: yield* once(Subject.baseline(baselineGround, "transactions")),
    baselineStatements: yield* once(Subject.baseline(baselineGround, "statements")),
    floor: yield* once(Subject.floor(ground))
  }
})
