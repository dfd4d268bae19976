import { randomUUID } from "node:crypto"
import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { LogEntry } from "../../../../src/domain/log/LogEntry.ts"
import { total } from "../../../../src/domain/log/Usage.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import { maxEntries, OperatorLog } from "../../../../src/services/operations/OperatorLog.ts"
import { makeAccount, makeRecord } from "../../../support/api/searches.ts"

/** Writes an entry of an account's, or of the demo's. */
const log = Effect.fnUntraced(function* (fields: Partial<LogEntry> = {}) {
  const entry: LogEntry = { ...(yield* makeRecord(undefined)), ...fields, credits: 0 }
  yield* (yield* QueryLog).append([entry])
  return entry
})

const withoutTime = ({ at: _, ...entry }: LogEntry & { readonly at: number }): LogEntry => entry

/** All time. */
const always = { from: 0, to: Date.UTC(2100, 0, 1) }

/** What any view of the whole log promises. */
export const operatorLogConformance = (
  it: Vitest.MethodsNonLive<Accounts | Ids | Ledger | OperatorLog | QueryLog>
): void => {
  it.effect("a search is found by its id with all that was logged, the reasons of its refusals included", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "starter" })
      const entry = yield* log({
        accountId: account.id,
        keyId: "key_1",
        requestId: randomUUID(),
        outcome: "upstream_timeout",
        provider: undefined,
        refusals: [
          { provider: "meta/google", reason: "blocked", ms: 12 },
          { provider: "brave", reason: "timeout", ms: 5003 }
        ]
      })
      assert.deepStrictEqual(withoutTime(yield* (yield* OperatorLog).query(entry.id)), entry)
    })
  )

  it.effect("a batch has its rows in their order, in any order of writing", () =>
    Effect.gen(function* () {
      const batchId = yield* (yield* Ids).make("bat_")
      for (const rowIndex of [2, 0, 1]) yield* log({ batchId, rowIndex })
      const rows = yield* (yield* OperatorLog).batch(batchId)
      assert.deepStrictEqual(
        rows.map((row) => row.rowIndex),
        [0, 1, 2]
      )
    })
  )

  it.effect("R2: a request is found by its id in any letter case, with every search that it made", () =>
    Effect.gen(function* () {
      const requestId = randomUUID()
      const first = yield* log({ requestId })
      const second = yield* log({ requestId })
      yield* log({ requestId: randomUUID() })
      const found = yield* (yield* OperatorLog).request(requestId.toUpperCase())
      assert.deepStrictEqual(
        found.map(({ id }) => id),
        [first.id, second.id]
      )
    })
  )

  it.effect("a request's entries end at a limit, because a client may repeat one id forever", () =>
    Effect.gen(function* () {
      const requestId = randomUUID()
      const entries = yield* Effect.forEach(Array.from({ length: maxEntries + 1 }), () => makeRecord(undefined))
      yield* (yield* QueryLog).append(entries.map((entry) => ({ ...entry, requestId })))
      assert.strictEqual((yield* (yield* OperatorLog).request(requestId)).length, maxEntries)
    })
  )

  it.effect("what is not in the log is not found", () =>
    Effect.gen(function* () {
      const operatorLog = yield* OperatorLog
      for (const lookup of [
        Effect.asVoid(operatorLog.query("qry_none")),
        Effect.asVoid(operatorLog.batch("bat_none")),
        Effect.asVoid(operatorLog.request(randomUUID()))
      ]) {
        const error = yield* Effect.flip(lookup)
        assert.strictEqual(error._tag, "not_found")
      }
    })
  )

  it.effect("minutes have their searches, credits, errors and latencies; a minute without searches is absent", () =>
    Effect.gen(function* () {
      const operatorLog = yield* OperatorLog
      const from = (yield* operatorLog.minutes(0, always.to)).at(-1)?.at ?? 0
      const counted = Effect.map(operatorLog.minutes(from, always.to), (all) => total(all))
      const before = yield* counted
      for (const durationMs of [10, 20, 900]) yield* log({ durationMs })
      yield* log({ outcome: "upstream_error", durationMs: 15_000 })
      const after = yield* counted
      assert.strictEqual(after.searches, before.searches + 4)
      assert.strictEqual(after.outcomes.upstream_error, before.outcomes.upstream_error + 1)
      const last = (yield* operatorLog.minutes(0, always.to)).at(-1)
      assert.strictEqual((last?.at ?? 1) % 60_000, 0)
      assert.isAtLeast(last?.p95Ms ?? 0, last?.p50Ms ?? 1)
      assert.deepStrictEqual(yield* operatorLog.minutes(0, 1_000), [])
    })
  )

  it.effect("a charged search is found with the entry of the ledger that charged it, a free search without", () =>
    Effect.gen(function* () {
      const operatorLog = yield* OperatorLog
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "starter" })
      const entry = yield* makeRecord(account)
      const hold = yield* ledger.reserve(account, 1)
      yield* ledger.settle(hold, [entry])
      const found = yield* operatorLog.query(entry.id)
      const [charge, ...others] = yield* operatorLog.charges([found])
      assert.deepStrictEqual(others, [])
      assert.deepInclude(charge, { accountId: account.id, kind: "search", quotaCredits: 1, cause: hold.id })
      const free = yield* log()
      assert.deepStrictEqual(yield* operatorLog.charges([yield* operatorLog.query(free.id)]), [])
      assert.deepStrictEqual(yield* operatorLog.charges([]), [])
    })
  )

  it.effect("usage is counted by each group over the given time, with the searches that nobody pays for", () =>
    Effect.gen(function* () {
      const operatorLog = yield* OperatorLog
      const account = yield* makeAccount({ plan: "starter" })
      const source = yield* (yield* Ids).make("qry_")
      const provider = `provider ${source}`
      const logged = { provider, request: { ...(yield* makeRecord(undefined)).request, source } }
      yield* log({ ...logged, accountId: account.id, keyId: "key_top", cached: true })
      yield* log({ ...logged, accountId: account.id, outcome: "upstream_error" })
      yield* log(logged)
      const find = (by: "account" | "provider" | "source", group: string) =>
        Effect.map(operatorLog.top({ by, ...always, limit: 1_000 }), (all) => all.find((it) => it.group === group))
      const counted = {
        searches: 3,
        cached: 1,
        outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 0, page_unreadable: 0 }
      }
      assert.deepInclude(yield* find("source", source), { ...counted, email: undefined })
      assert.deepInclude(yield* find("provider", provider), counted)
      assert.deepInclude(yield* find("account", account.id), { searches: 2, email: account.email })
      const now = yield* Effect.map(operatorLog.minutes(0, always.to), (all) => all.at(-1)?.at ?? 0)
      // Counted day by day.
      const days = { from: now - 3 * 86_400_000, to: now + 3_600_000 }
      const recent = yield* operatorLog.top({ by: "source", ...days, limit: 1_000 })
      assert.deepInclude(
        recent.find(({ group }) => group === source),
        counted
      )
      const accounts = yield* operatorLog.top({ by: "account", ...days, limit: 1_000 })
      assert.strictEqual(accounts.find(({ group }) => group === account.id)?.email, account.email)
      const demo = yield* operatorLog.top({ by: "key", ...always, limit: 1_000 })
      assert.isAbove(demo.find(({ group }) => group === undefined)?.searches ?? 0, 0)
    })
  )

  it.effect("the groups with most searches come first, as many as asked for, and none from another time", () =>
    Effect.gen(function* () {
      const operatorLog = yield* OperatorLog
      for (let n = 0; n < 2; n++) yield* log()
      const all = yield* operatorLog.top({ by: "target", ...always, limit: 10 })
      const counts = all.map(({ searches }) => searches)
      assert.deepStrictEqual(
        counts,
        [...counts].sort((a, b) => b - a)
      )
      assert.strictEqual((yield* operatorLog.top({ by: "source", ...always, limit: 1 })).length, 1)
      assert.deepStrictEqual(yield* operatorLog.top({ by: "account", from: 0, to: 1_000, limit: 10 }), [])
    })
  )
}
