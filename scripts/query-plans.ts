import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { Clock, Console, Duration, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../src/domain/accounts/Account.ts"
import type { LogEntry } from "../src/domain/log/LogEntry.ts"
import * as RandomIds from "../src/layers/Ids.ts"
import * as AccountsSql from "../src/layers/sql/accounts/AccountsSql.ts"
import * as LedgerSql from "../src/layers/sql/credits/LedgerSql.ts"
import { books } from "../src/layers/sql/credits/Verification.ts"
import * as Migrations from "../src/layers/sql/Migrations.ts"
import * as Postgres from "../src/layers/sql/store/Postgres.ts"
import { Accounts } from "../src/services/accounts/Accounts.ts"
import { Ledger } from "../src/services/credits/Ledger.ts"
import { Ids } from "../src/services/Ids.ts"
import { StoreClock } from "../src/services/StoreClock.ts"
import * as StandardSettings from "../src/testing/StandardSettings.ts"

/**
 * Fills a database with ten million searches, unless it is filled already, and writes down how the statements of the
 * hot path are carried out in it: docs/internals/query-plans.md. DATABASE_URL names an empty database whose user is a superuser
 * (auto_explain shows the statements inside the functions); another one beside it is made for comparison, and dropped.
 */
const rows = 10_000_000
const url = new URL(process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/quarry_plans")
const emptyUrl = new URL(`${url.pathname}_empty`, url)
const document = fileURLToPath(new URL("../docs/internals/query-plans.md", import.meta.url))

const psql = (address: URL, ...args: ReadonlyArray<string>): string =>
  execFileSync("sh", ["-c", 'exec psql -X -v ON_ERROR_STOP=1 "$@" 2>&1', "psql", address.href, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 26
  })

const file = (name: string) => fileURLToPath(new URL(`query-plans/${name}`, import.meta.url))

const storage = (address: URL) =>
  Layer.mergeAll(AccountsSql.layer, LedgerSql.layer()).pipe(
    Layer.provide([StandardSettings.plans, StoreClock.own]),
    Layer.provideMerge(RandomIds.layer),
    Layer.provideMerge(Migrations.layer),
    Layer.provideMerge(Postgres.layer({ url: Redacted.make(address.href), poolSize: 10 }))
  )

const request = {
  target: "alpha_search",
  query: "what people look for",
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: "api"
} as const

const searchesInFlight = 256
const accountCount = 1000
const measured = Duration.seconds(15)

/** Reserve and settle pairs a second, of a thousand accounts in turn. */
const throughput = Effect.gen(function* () {
  const accounts = yield* Accounts
  const ids = yield* Ids
  const ledger = yield* Ledger
  const payers: Array<Account> = []
  for (let n = 0; n < accountCount; n++) {
    payers.push(yield* accounts.create({ email: `${yield* ids.requestId}@example.com`, plan: "custom", quota: 1e9 }))
  }
  let done = 0
  const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(measured)
  const caller = Effect.gen(function* () {
    while ((yield* Clock.currentTimeMillis) < end) {
      const account = payers[done++ % payers.length]
      if (account === undefined) return
      const record: LogEntry = {
        id: yield* ids.make("qry_"),
        accountId: account.id,
        keyId: undefined,
        batchId: undefined,
        request,
        outcome: "ok",
        credits: 1,
        cached: false,
        provider: "meta/google",
        resultCount: 10,
        durationMs: 300,
        requestId: yield* ids.requestId,
        rowIndex: undefined,
        refusals: []
      }
      yield* ledger.settle(yield* ledger.reserve(account, 1), [record])
    }
  })
  yield* Effect.all(
    Array.from({ length: searchesInFlight }, () => caller),
    { concurrency: "unbounded" }
  )
  return Math.round(done / Duration.toSeconds(measured))
})

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([Clock.currentTimeMillis, effect, Clock.currentTimeMillis]), ([start, value, end]) => ({
    value,
    seconds: ((end - start) / 1000).toFixed(1)
  }))

const report = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly filled: boolean }>`select exists (select from accounts) as filled`
  if (found?.filled !== true) {
    yield* Console.log(`Loading ${rows} searches`)
    psql(url, "-q", "-v", `rows=${rows}`, "-f", file("load.sql"))
  }
  yield* Console.log("Explaining")
  const plans = psql(url, "-f", file("explain.sql"))
  const verification = psql(url, "-Atc", `explain (analyze, buffers) ${books(sql, {}, true).compile()[0]}`)
  const verified = yield* timed(Effect.flatMap(Ledger, (ledger) => ledger.verify))
  yield* Console.log("Measuring")
  const full = yield* throughput
  const verifying = Effect.forever(Effect.flatMap(Ledger, (ledger) => ledger.verify))
  const beside = yield* Effect.raceFirst(throughput, verifying)
  psql(url, "-qc", `create database ${emptyUrl.pathname.slice(1)}`)
  const empty = yield* throughput.pipe(
    Effect.provide(storage(emptyUrl), { local: true }),
    Effect.ensuring(Effect.sync(() => psql(url, "-qc", `drop database ${emptyUrl.pathname.slice(1)} with (force)`)))
  )
  const [server] = yield* sql<Readonly<Record<"size" | "version" | "buffers" | "fsync", string>>>`
    select pg_size_pretty(pg_database_size(current_database())) as size, split_part(version(), ' (', 1) as version,
      current_setting('shared_buffers') as buffers, current_setting('fsync') as fsync`
  writeFileSync(
    document,
    [
      "# Query plans at ten million searches",
      "",
      "Written by `DATABASE_URL=postgres://… node scripts/query-plans.ts`; how the data is made is in",
      "`scripts/query-plans/load.sql`, what is asked in `explain.sql` beside it.",
      "",
      `- ${server?.version} on ${availableParallelism()} cores, shared with the client, shared_buffers ${server?.buffers}, fsync ${server?.fsync}; ${rows.toLocaleString("en")} charged searches of 10,000 accounts over six months, ${server?.size} on disk.`,
      `- Reserve and settle pairs a second, ${accountCount} accounts, ${searchesInFlight} in flight: ${full} here, ${empty} on an empty log, ${beside} here while the books are verified over and over.`,
      `- \`ledger verify\`: ${verified.seconds} s, ${verified.value.length} discrepancies.`,
      "",
      "A batch reads and writes rows by key, and its cost is that of its own rows; nothing on the hot path reads a table",
      "that grows. The first `ledger verify` reads everything, as this one did, without a lock that searches need.",
      "",
      ...sections(plans),
      "## Verify",
      "",
      "```",
      verification.trim(),
      "```",
      ""
    ].join("\n")
  )
})

/** The plans of each statement under its heading, inner statements first. */
const sections = (output: string): ReadonlyArray<string> =>
  output.split(/^## /m).flatMap((section, index) => {
    if (index === 0) return []
    const [heading = "", ...lines] = section.split("\n")
    const text = lines
      .map((line) => line.replace(/^psql:.*NOTICE:\s+(duration: [\d.]+ ms).*$/, "\n-- $1").slice(0, 160))
      .join("\n")
    return [`## ${heading}`, "", "```", text.trim(), "```", ""]
  })

await Effect.runPromise(Effect.provide(report, storage(url)))
