// First, because it watches functions that later modules keep.
import "../../../support/crash/Recording.ts"
import { existsSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import * as CrawlState from "../../../../src/layers/index/crawl/CrawlState.ts"
import * as DocumentIndexSql from "../../../../src/layers/sql/index/DocumentIndexSql.ts"
import { isMade } from "../../../../src/layers/sql/store/DirectoryLock.ts"
import * as NewStore from "../../../../src/layers/sql/store/NewStore.ts"
import * as Pglite from "../../../../src/layers/sql/store/Pglite.ts"
import { Secrets } from "../../../../src/process/secrets/Secrets.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { DocumentIndex } from "../../../../src/services/index/DocumentIndex.ts"
import { AppConfig } from "../../../../src/settings/Settings.ts"
import { makeAccount, makeRecord } from "../../../support/api/searches.ts"
import { type Kept, writeState } from "../../../support/crash/PowerCut.ts"
import { type Operation, type Recording, record } from "../../../support/crash/Recording.ts"
import { temporaryDirectoryIn } from "../../../support/processes/Spawned.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { storesParent } from "../../../support/stores/Template.ts"

/** `POWER_CUTS=10000 npx vitest run` on this file tries more states, `POWER_CUT_SEED` others. */
const states = Number(process.env.POWER_CUTS ?? 10)
const seed = Number(process.env.POWER_CUT_SEED ?? 1)
const timeout = 600_000 + states * 30_000

const storage = (dataDir: string) =>
  Layer.provideMerge(DocumentIndexSql.layer, SqlStorage.layer(Pglite.layer({ dataDir })))

const secrets = (dataDir: string) =>
  Effect.provide(Secrets, Layer.provide(Secrets.layer, AppConfig.layerTest({ dataDir })), { local: true })

/** Mulberry32: the same states for the same seed. */
const randomFrom = (start: number) => {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A first start, searches, an index load, a checkpoint and a migration that replaces a table's files. */
const use = Effect.fnUntraced(function* (dataDir: string, { answer }: Recording) {
  yield* secrets(dataDir)
  yield* NewStore.make({ dataDir, sync: true }, Effect.void)
  return yield* Effect.gen(function* () {
    const ledger = yield* Ledger
    const index = yield* DocumentIndex
    const sql = yield* SqlClient.SqlClient
    const account = yield* makeAccount({ plan: "custom", quota: 1_000_000 })
    const search = Effect.gen(function* () {
      const entry = yield* makeRecord(account)
      const hold = yield* ledger.reserve(account, 1)
      yield* ledger.settle(hold, [entry])
      answer(entry.id)
    })
    const searches = Effect.all([search, search, search, search], { concurrency: "unbounded" })
    yield* Effect.repeat(searches, { times: 2 })
    yield* sql`checkpoint`
    yield* Effect.repeat(search, { times: 2 })
    yield* index.load(Stream.fromIterable([{ url: "https://a.example/", title: "Power", description: "A cut." }]), {
      target: undefined,
      replace: false
    })
    const crawl = yield* CrawlState.open(join(dataDir, "crawl.jsonl"))
    yield* crawl.write([{ url: "https://a.example/", run: crawl.run, hash: "1" }])
    yield* crawl.finish(new Set())
    yield* sql`vacuum full indexed_documents`
    yield* searches
    yield* sql`checkpoint`
    yield* searches
    return account
  }).pipe(Effect.provide(storage(dataDir), { local: true }))
})

/** Starts the store as after a power cut. I4, I5: each answered search is charged and logged once. */
const check = (dataDir: string, account: Account, answered: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    // A first start that was cut short begins again.
    if (!existsSync(dataDir)) mkdirSync(dataDir, { recursive: true })
    yield* secrets(dataDir)
    if (!isMade(dataDir)) return assert.deepStrictEqual(answered, [])
    yield* Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const logged = (yield* sql<{ readonly id: string }>`select id from queries`).map(({ id }) => id)
      assert.deepStrictEqual(
        answered.filter((id) => !logged.includes(id)),
        []
      )
      assert.strictEqual(new Set(logged).size, logged.length)
      assert.deepStrictEqual(yield* ledger.verifyFully, [])
      if (answered.length === 0) return
      yield* sql`update holds set expires_at = clock_timestamp()`
      yield* ledger.sweep
      assert.deepInclude(yield* ledger.allowance(account), { used: logged.length })
    }).pipe(Effect.provide(storage(dataDir), { local: true }))
  })

interface Cut {
  readonly moment: number
  readonly kept: Kept
  readonly random: () => number
}

const survives = Effect.fnUntraced(function* (operations: ReadonlyArray<Operation>, account: Account, cut: Cut) {
  const directory = yield* temporaryDirectoryIn(storesParent())
  const answered = writeState(operations, cut.moment, cut.kept, cut.random, directory)
  // The holder of the lock ended with the power, but here it is this process, which lives.
  rmSync(join(directory, "store", "quarry.pid"), { force: true })
  const exit = yield* Effect.exit(check(join(directory, "store"), account, answered))
  rmSync(directory, { recursive: true })
  return exit
}, Effect.scoped)

const recorded = Effect.gen(function* () {
  const root = yield* temporaryDirectoryIn(storesParent())
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const recording = yield* record(root)
      const account = yield* use(join(root, "store"), recording)
      return { account, operations: [...recording.operations] }
    })
  )
})

/** The files whose syncs PGlite's `fdatasync` would skip: the write-ahead log. */
const logFiles = (operations: ReadonlyArray<Operation>): ReadonlySet<number> =>
  new Set(operations.flatMap((it) => (it.kind === "create" && it.path.includes("/pg_wal/") ? [it.file] : [])))

const mutations: ReadonlyArray<readonly [string, (operations: ReadonlyArray<Operation>) => ReadonlyArray<Operation>]> =
  [
    ["any sync", (all) => all.filter(({ kind }) => kind !== "sync" && kind !== "syncDirectory")],
    [
      "the log's sync, as with fdatasync",
      (all) => {
        const files = logFiles(all)
        return all.filter((it) => it.kind !== "sync" || !files.has(it.file))
      }
    ],
    ["the directories' sync", (all) => all.filter(({ kind }) => kind !== "syncDirectory")]
  ]

describe("a power cut", () => {
  it.live(
    "loses no answered search in any state of the disk, and loses some without the syncs",
    () =>
      Effect.gen(function* () {
        const { account, operations } = yield* recorded
        const random = randomFrom(seed)
        const kinds: ReadonlyArray<Kept> = ["none", "subset", "prefix", "all"]
        for (let state = 0; state < states; state++) {
          const kept = kinds[state % kinds.length] ?? "none"
          const moment = state === 0 ? operations.length : 1 + Math.floor(random() * operations.length)
          const exit = yield* survives(operations, account, { moment, kept, random })
          if (Exit.isFailure(exit)) {
            assert.fail(`seed ${seed}, state ${state}: ${kept} of ${moment} of ${operations.length}: ${exit.cause}`)
          }
        }
        const last = { moment: operations.length, kept: "none", random } as const
        for (const [missing, without] of mutations) {
          const changed = without(operations)
          const exit = yield* survives(changed, account, { ...last, moment: changed.length })
          assert.isTrue(Exit.isFailure(exit), `no loss was found without ${missing}`)
        }
      }).pipe(Effect.provide(NodeServices.layer)),
    timeout
  )
})
