import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { PgClient } from "@effect/sql-pg"
import { Clock, Console, Duration, Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlConnection } from "effect/sql"
import { everything } from "../src/domain/log/QueryHistory.ts"
import * as MembersBetterAuth from "../src/layers/auth/MembersBetterAuth.ts"
import * as RandomIds from "../src/layers/Ids.ts"
import * as AccountsSql from "../src/layers/sql/accounts/AccountsSql.ts"
import * as ActivitySql from "../src/layers/sql/accounts/ActivitySql.ts"
import * as BillingBooksSql from "../src/layers/sql/billing/BillingBooksSql.ts"
import * as HoldsSql from "../src/layers/sql/credits/HoldsSql.ts"
import * as LedgerSql from "../src/layers/sql/credits/LedgerSql.ts"
import { countHours } from "../src/layers/sql/credits/UsageHours.ts"
import * as DocumentIndexSql from "../src/layers/sql/index/DocumentIndexSql.ts"
import * as KeyStoreSql from "../src/layers/sql/keys/KeyStoreSql.ts"
import * as Migrations from "../src/layers/sql/Migrations.ts"
import * as AuditSql from "../src/layers/sql/operations/AuditSql.ts"
import * as OperatorFiguresSql from "../src/layers/sql/operations/OperatorFiguresSql.ts"
import * as OperatorLogSql from "../src/layers/sql/operations/OperatorLogSql.ts"
import * as ProviderPausesSql from "../src/layers/sql/operations/ProviderPausesSql.ts"
import * as QueryLogSql from "../src/layers/sql/search/QueryLogSql.ts"
import { commit, connect } from "../src/layers/sql/store/Postgres.ts"
import * as EventBooksSql from "../src/layers/sql/webhooks/EventBooksSql.ts"
import { Accounts } from "../src/services/accounts/Accounts.ts"
import { Activity } from "../src/services/accounts/Activity.ts"
import { Members } from "../src/services/accounts/Members.ts"
import { ActsOnItsOwn } from "../src/services/background.ts"
import { BillingBooks } from "../src/services/billing/BillingBooks.ts"
import { QueryLog } from "../src/services/charging/QueryLog.ts"
import { Holds } from "../src/services/credits/Holds.ts"
import { Ledger } from "../src/services/credits/Ledger.ts"
import { DocumentIndex } from "../src/services/index/DocumentIndex.ts"
import { KeyStore } from "../src/services/keys/KeyStore.ts"
import { Audit } from "../src/services/operations/Audit.ts"
import { singleKeyring } from "../src/services/operations/Keyrings.ts"
import { OperatorFigures } from "../src/services/operations/OperatorFigures.ts"
import { OperatorLog, usageGroups } from "../src/services/operations/OperatorLog.ts"
import { storyOf } from "../src/services/operations/story.ts"
import { ProviderPauses } from "../src/services/providers/ProviderPauses.ts"
import { StoreClock } from "../src/services/StoreClock.ts"
import { EventBooks } from "../src/services/webhooks/EventBooks.ts"
import * as StandardSettings from "../src/testing/StandardSettings.ts"

/**
 * Fills a database with 100,000 accounts and ten million searches, unless it is filled already, makes every read of the
 * operator's console, and writes down how long each statement takes and how it is carried out:
 * docs/internals/operator-query-plans.md. DATABASE_URL names an empty database whose user is a superuser.
 */
const rows = 10_000_000
const accountCount = 100_000
const url = process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/quarry_operator_plans"
const document = fileURLToPath(new URL("../docs/internals/operator-query-plans.md", import.meta.url))

/** The plan of a statement that takes no longer than this is not written down. */
const planAboveMs = 5

const psql = (file: string, ...variables: ReadonlyArray<string>): void => {
  const path = fileURLToPath(new URL(`query-plans/${file}`, import.meta.url))
  const set = variables.flatMap((variable) => ["-v", variable])
  execFileSync("psql", [url, "-X", "-q", "-v", "ON_ERROR_STOP=1", ...set, "-f", path], { stdio: "inherit" })
}

interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
  readonly ms: number
  readonly cpuMs: number
  /** Of its transaction, which its plan depends on. */
  readonly settings: ReadonlyArray<string>
}

let recorded: Array<Statement> = []
let settings: ReadonlyArray<string> = []

/** Of the connection's server process, which must run on this machine. */
let serverProcess = 0

/** Processor time of the server process. On an idle machine, a statement whose pages are cached takes no longer. */
const cpuMs = (): number =>
  serverProcess === 0 ? 0 : Number(readFileSync(`/proc/${serverProcess}/schedstat`, "utf8").split(" ")[0]) / 1e6

const timed = <A, E>(text: string, params: ReadonlyArray<unknown>, statement: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const before = cpuMs()
    const [duration, result] = yield* Effect.timed(statement)
    if (/^\s*set local/i.test(text)) settings = [...settings, text]
    if (/^\s*(select|with)\b/i.test(text)) {
      recorded.push({ text, params, ms: Duration.toMillis(duration), cpuMs: cpuMs() - before, settings })
    }
    if (/^\s*(commit|rollback)/i.test(text)) settings = []
    return result
  })

const recording = (connection: SqlConnection.Connection): SqlConnection.Connection =>
  SqlConnection.Connection.of({
    ...connection,
    execute: (text, params, transform) => timed(text, params, connection.execute(text, params, transform)),
    executeRaw: (text, params) => timed(text, params, connection.executeRaw(text, params)),
    executeUnprepared: (text, params, transform) =>
      timed(text, params, connection.executeUnprepared(text, params, transform))
  })

const database = Layer.effect(
  SqlClient.SqlClient,
  Effect.gen(function* () {
    const { reserve } = yield* connect(
      { url: Redacted.make(url), poolSize: 1, statementTimeout: Duration.hours(1) },
      { maxConnections: 1, idleTimeout: Duration.infinity }
    )
    return yield* SqlClient.make({
      acquirer: Effect.map(reserve, recording),
      compiler: PgClient.makeCompiler(),
      driver: "pg",
      spanAttributes: [],
      commit
    })
  })
).pipe(Layer.provide(Reactivity.layer))

const secret = singleKeyring(Redacted.make("a secret for plans of 32 characters or more"))

const services = Layer.mergeAll(
  AccountsSql.layer,
  ActivitySql.layer,
  AuditSql.layer,
  BillingBooksSql.layer,
  DocumentIndexSql.layer,
  EventBooksSql.layer({ keyring: secret }),
  HoldsSql.layer,
  KeyStoreSql.layer({ pepper: secret }),
  LedgerSql.layer({ hasUpkeep: false }),
  OperatorFiguresSql.layer,
  OperatorLogSql.layer,
  ProviderPausesSql.layer,
  QueryLogSql.layer
)

const layer = MembersBetterAuth.layer({
  baseUrl: "http://localhost",
  secrets: secret,
  signUp: { mode: "open", domains: [] }
}).pipe(
  Layer.provideMerge(services),
  Layer.provideMerge(RandomIds.layer),
  Layer.provideMerge(Layer.provideMerge(Migrations.layer, database)),
  Layer.provide([Layer.succeed(ActsOnItsOwn, false), StandardSettings.plans, StoreClock.own])
)

const page = { text: undefined, plan: undefined, suspended: undefined, after: undefined, limit: 50 }
const listed = {
  operator: undefined,
  command: undefined,
  subject: undefined,
  from: undefined,
  to: undefined,
  before: undefined,
  limit: 50
}

const dayMs = 86_400_000

const reads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const accounts = yield* Accounts
  const activity = yield* Activity
  const audit = yield* Audit
  const billing = yield* BillingBooks
  const documents = yield* DocumentIndex
  const events = yield* EventBooks
  const figures = yield* OperatorFigures
  const holds = yield* Holds
  const keys = yield* KeyStore
  const ledger = yield* Ledger
  const log = yield* OperatorLog
  const members = yield* Members
  const pauses = yield* ProviderPauses
  const queries = yield* QueryLog
  const now = yield* Clock.currentTimeMillis
  const hot = yield* accounts.byEmail("0@example.com")
  const cold = yield* accounts.byEmail("4711@example.com")
  const [entry] = yield* queries.recent(hot.id, 1)
  const [key] = yield* keys.list(cold.id)
  const middle = yield* sql<{
    readonly id: string
  }>`select id from accounts order by created_at desc, id desc offset 50000 limit 1`
  const history = (filter: Partial<typeof everything>) =>
    queries.history(hot.id, { filter: { ...everything, ...filter }, after: undefined, limit: 50 })
  const find = (text: string) => accounts.list({ ...page, text })
  const hour = Math.floor(now / 3_600_000) * 3_600_000
  const usage = (days: number) =>
    queries.usage(hot.id, { from: hour - days * dayMs, to: hour + 3_600_000, granularity: "day", groupBy: "key" })
  const all: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, OperatorLog>]> = [
    ["Now: one hour of the minute series", log.minutes(hour - 3_600_000, hour)],
    ["Now: holds", holds.count],
    ["Now: the last verification", figures.lastVerification],
    ["Customers: the newest", accounts.list(page)],
    ["Customers: from the middle", accounts.list({ ...page, after: middle[0]?.id })],
    ["Customers: on a plan", accounts.list({ ...page, plan: "growth" })],
    ["Customers: suspended", accounts.list({ ...page, suspended: true })],
    ["Customers: by an address", find("4711@example.com")],
    ["Customers: by a part of an address that none has", find("nobody@nowhere")],
    ["Customers: by the start of an ID", find(cold.id.slice(0, 12))],
    ["Customers: by the start of a key", find(key?.hint.slice(0, 12) ?? "")],
    ["Customers: by a whole key, of which its ends are shown", find(`sk_live_${"0".repeat(49)}`)],
    ["Customers: by the name of one key", find(key?.label ?? "")],
    ["Customers: by a name that half of the keys have", find("production")],
    ["Customer: account", accounts.byId(hot.id)],
    ["Customer: credits", ledger.peek(hot)],
    ["Customer: keys", keys.list(hot.id)],
    ["Customer: members", members.list(hot.id)],
    ["Customer: webhooks with 30,000 deliveries", events.queues(hot.id)],
    ["Customer: payments", Effect.andThen(billing.account(cold.id), billing.orders(cold.id, 20))],
    ["Customer: last seen", figures.lastSeen(hot.id)],
    ["Customer: log, a million entries", history({})],
    ["Customer: log, failed searches", history({ outcome: "upstream_error" })],
    ["Customer: log, a text that no search has", history({ text: "nobody looked for this" })],
    ["Customer: activity", activity.page(hot.id, {})],
    ["Customer: usage of 30 days by key", usage(30)],
    ...usageGroups.map(
      (by) => [`Most used: by ${by}, one day`, log.top({ by, from: now - dayMs, to: now, limit: 50 })] as const
    ),
    ["Most used: by account, seven days", log.top({ by: "account", from: now - 7 * dayMs, to: now, limit: 50 })],
    ["Request: by query", storyOf(entry?.id ?? "")],
    ["Request: by request", storyOf(entry?.requestId ?? "")],
    ["Request: by trace", storyOf((entry?.requestId ?? "").replaceAll("-", ""))],
    ["Request: a batch that is not there", Effect.ignore(storyOf(`bat_${"0".repeat(32)}`))],
    ["Index: 200,000 documents by target and language", documents.counts],
    ["Money: plans", figures.plans],
    ["Money: revenue of 30 days", figures.revenue(now - 30 * dayMs)],
    ["Money: second subscriptions", figures.secondSubscriptions],
    ["Money: unpaid renewals", figures.unpaid],
    ["Money: the provider's deliveries", billing.figures],
    ["Engines: pauses", pauses.all],
    ["Audit: the newest", audit.list(listed)],
    ["Audit: of an operator", audit.list({ ...listed, operator: "operator3@example.com" })],
    ["Audit: an operator who did nothing", audit.list({ ...listed, operator: "nobody" })],
    ["Audit: about an account", audit.list({ ...listed, subject: hot.id })],
    ["Audit: one day", audit.list({ ...listed, from: now - 3 * dayMs, to: now - 2 * dayMs })]
  ]
  return all
})

/** Each read once with whatever is cached, and four times more: the fastest counts, because the machine does other work. */
const measure = Effect.fnUntraced(function* (read: Effect.Effect<unknown, unknown, OperatorLog>) {
  const times: Array<ReadonlyArray<Statement>> = []
  for (let run = 0; run < 5; run++) {
    recorded = []
    yield* Effect.orDie(read)
    times.push(recorded)
  }
  const [first = [], ...others] = times
  return first.map((statement, index) => ({
    ...statement,
    firstMs: statement.ms,
    ms: Math.min(...others.map((run) => run[index]?.ms ?? Number.POSITIVE_INFINITY)),
    cpuMs: Math.min(...others.map((run) => run[index]?.cpuMs ?? Number.POSITIVE_INFINITY))
  }))
})

const explain = Effect.fnUntraced(function* ({ params, settings, text }: Statement) {
  const sql = yield* SqlClient.SqlClient
  const lines = yield* sql.withTransaction(
    Effect.gen(function* () {
      for (const setting of settings) yield* sql.unsafe(setting)
      return yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`explain (analyze, buffers) ${text}`, params)
    })
  )
  return lines.map((line) => line["QUERY PLAN"].slice(0, 160)).join("\n")
})

const report = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly filled: boolean }>`select exists (select from accounts) as filled`
  if (found?.filled !== true) {
    yield* Console.log(`Loading ${rows} searches of ${accountCount} accounts`)
    psql("load.sql", `rows=${rows}`, `accounts=${accountCount}`)
    psql("operator.sql")
  }
  // The server counts the hours of busy accounts once they are over.
  yield* countHours(sql)
  yield* sql`set max_parallel_workers_per_gather = 0`
  const [process] = yield* sql<{ readonly pid: number }>`select pg_backend_pid() as pid`
  serverProcess = process?.pid ?? 0
  const table: Array<string> = []
  const plans: Array<string> = []
  const slowest = { cpuMs: 0, ms: 0 }
  for (const [name, read] of yield* reads) {
    for (const statement of yield* measure(read)) {
      const { cpuMs, firstMs, ms, text } = statement
      slowest.cpuMs = Math.max(slowest.cpuMs, cpuMs)
      slowest.ms = Math.max(slowest.ms, ms)
      yield* Console.log(`${name}: ${cpuMs.toFixed(1)} ms of CPU, ${ms.toFixed(1)} ms, first ${firstMs.toFixed(1)} ms`)
      table.push(`| ${name} | ${cpuMs.toFixed(1)} | ${ms.toFixed(1)} | ${firstMs.toFixed(1)} |`)
      if (cpuMs < planAboveMs) continue
      plans.push(`## ${name}`, "", "```sql", text.replaceAll(/^ {2,}/gm, "  ").trim(), "```", "")
      plans.push("```", yield* explain(statement), "```", "")
    }
  }
  const [server] = yield* sql<Readonly<Record<"size" | "version" | "buffers", string>>>`
    select pg_size_pretty(pg_database_size(current_database())) as size, split_part(version(), ' (', 1) as version,
      current_setting('shared_buffers') as buffers`
  writeFileSync(
    document,
    [
      "# Query plans of the operator's console",
      "",
      "Written by `DATABASE_URL=postgres://… node scripts/operator-plans.ts`; how the data is made is in",
      "`scripts/query-plans/load.sql` and `operator.sql`.",
      "",
      `- ${server?.version} on ${availableParallelism()} cores, shared_buffers ${server?.buffers}; ${accountCount.toLocaleString("en")} accounts with three keys each, ${rows.toLocaleString("en")} charged searches over six months, ${server?.size} on disk.`,
      "- Milliseconds of each statement as the service sends it, without parallel workers: the processor time of the server's",
      "  process, which is what it takes on an idle machine, and the time until the response, each the fastest of four runs;",
      "  then the time of the first run, which reads from the disk.",
      `- The slowest statement takes ${slowest.cpuMs.toFixed(0)} ms of CPU, and the slowest response ${slowest.ms.toFixed(0)} ms. Plans of statements above ${planAboveMs} ms of CPU follow.`,
      "",
      "| Read | CPU | time | first |",
      "| --- | --- | --- | --- |",
      ...table,
      "",
      ...plans
    ].join("\n")
  )
})

await Effect.runPromise(Effect.scoped(Effect.provide(report, layer)))
