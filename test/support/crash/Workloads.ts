import { join } from "node:path"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Json } from "../../../src/cli/Output.ts"
import { takeInto } from "../../../src/cli/operations/backup.ts"
import type { Account } from "../../../src/domain/accounts/Account.ts"
import * as CrawlState from "../../../src/layers/index/crawl/CrawlState.ts"
import * as DocumentIndexSql from "../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as BackupsSql from "../../../src/layers/sql/operations/BackupsSql.ts"
import * as NewStore from "../../../src/layers/sql/store/NewStore.ts"
import * as Pglite from "../../../src/layers/sql/store/Pglite.ts"
import { Secrets } from "../../../src/process/secrets/Secrets.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"
import { makeBrowser, makeReplica } from "../accounts/SignIn.ts"
import { makeAccount, makeEmail, makeRecords } from "../api/searches.ts"
import * as SqlStorage from "../stores/SqlStorage.ts"
import type { Recording } from "./Recording.ts"

/** Where a recording has the store and its backup. */
export const storeIn = (root: string): string => join(root, "store")
export const backupIn = (root: string): string => join(root, "whole.backup")

export const storage = (dataDir: string, sync: boolean) =>
  Layer.mergeAll(DocumentIndexSql.layer, BackupsSql.layer).pipe(
    Layer.provideMerge(SqlStorage.layer(Pglite.layer({ dataDir, sync })))
  )

export const secretsOf = (dataDir: string) =>
  Effect.provide(Secrets, Layer.provide(Secrets.layer, AppConfig.layerTest({ dataDir })), { local: true })

/** A migration that rewrites the files of a table with rows and builds an index, as a later version may have. */
export const migrate = Migrations.runAll({
  "9001_rewrite": Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`alter table queries add column rewritten timestamptz not null default clock_timestamp()`,
      sql`create index queries_rewritten on queries (rewritten)`
    )
  )
})

const makeSearches = (account: Account, { answer }: Recording) =>
  Effect.gen(function* () {
    const ledger = yield* Ledger
    const whole = Effect.fnUntraced(function* (rows: number) {
      const entries = yield* makeRecords(account, rows)
      const hold = yield* ledger.reserve(account, rows)
      yield* ledger.settle(hold, entries)
      answer({ of: "search", ids: entries.map(({ id }) => id) })
    })
    /** Each row is settled before it is sent, and the rest of the hold with the last one. */
    const lines = Effect.gen(function* () {
      const [last, ...others] = yield* makeRecords(account, 4)
      const hold = yield* ledger.reserve(account, 4)
      for (const entry of others) {
        yield* ledger.settlePart(hold, entry)
        answer({ of: "search", ids: [entry.id] })
      }
      if (last === undefined) return
      yield* ledger.settle(hold, [last])
      answer({ of: "search", ids: [last.id] })
    })
    return { search: whole(1), batch: whole(5), lines }
  })

const loadIndex = Effect.fnUntraced(function* (root: string, { answer }: Recording) {
  const index = yield* DocumentIndex
  const sql = yield* SqlClient.SqlClient
  const documents = Array.from({ length: 20 }, (_, n) => ({
    url: `https://a.example/${n}`,
    title: `Power ${n}`,
    description: "A cut."
  }))
  yield* index.load(Stream.fromIterable(documents), { target: undefined, replace: false })
  answer({ of: "documents", count: documents.length })
  const crawl = yield* CrawlState.open(join(storeIn(root), "crawl.jsonl"))
  yield* crawl.write([{ url: "https://a.example/", run: crawl.run, hash: "1" }])
  yield* crawl.finish(new Set())
  // Replaces the table's files, as maintenance does.
  yield* sql`vacuum full indexed_documents`
})

const signUp = Effect.fnUntraced(function* ({ answer }: Recording) {
  const replica = yield* makeReplica()
  const browser = makeBrowser()
  const email = yield* makeEmail
  yield* browser.signUp(replica, email)
  answer({ of: "person", ids: [email] })
})

const backUp = Effect.fnUntraced(function* (root: string, { answer }: Recording) {
  yield* takeInto(backupIn(root))
  answer({ of: "backup" })
})

/** Uses a store in every way in which one is written. Returns the account of its searches, and where each way began. */
export const useAll = Effect.fnUntraced(function* (root: string, recording: Recording) {
  const began: Record<string, number> = {}
  const begin = (name: string) =>
    Effect.sync(() => {
      began[name] = recording.operations.length
    })
  yield* begin("first start")
  const secrets = yield* secretsOf(storeIn(root))
  yield* NewStore.make({ dataDir: storeIn(root), sync: true }, Effect.void)
  const account = yield* Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const account = yield* makeAccount({ plan: "custom", quota: 1_000_000 })
    const { batch, lines, search } = yield* makeSearches(account, recording)
    const searches = Effect.all([search, search, search, search], { concurrency: "unbounded" })
    yield* begin("searches")
    yield* Effect.repeat(searches, { times: 2 })
    yield* begin("checkpoint")
    yield* sql`checkpoint`
    yield* search
    yield* begin("batches")
    yield* Effect.all([batch, lines, batch], { concurrency: "unbounded" })
    yield* begin("sign-up")
    yield* signUp(recording)
    yield* begin("index load")
    yield* loadIndex(root, recording)
    yield* search
    yield* begin("backup")
    yield* backUp(root, recording)
    yield* begin("migration")
    yield* migrate
    recording.answer({ of: "migration" })
    yield* searches
    yield* sql`checkpoint`
    yield* searches
    return account
  }).pipe(Effect.provideService(Json, false), Effect.provide(storage(storeIn(root), true), { local: true }))
  return { account, began, secrets }
})
