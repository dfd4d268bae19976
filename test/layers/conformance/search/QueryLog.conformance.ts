import { assert, type Vitest } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { LogEntry } from "../../../../src/domain/log/LogEntry.ts"
import { everything, type HistoryFilter, type Position } from "../../../../src/domain/log/QueryHistory.ts"
import { total, type UsageQuery } from "../../../../src/domain/log/Usage.ts"
import type { SearchOptions } from "../../../../src/domain/options/SearchOptions.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { QueryLog, type StoredLogEntry } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { discrepanciesOf, makeAccount, makeEmail, makeRecord } from "../../../support/api/searches.ts"

/** What any query log promises. */
export const queryLogConformance = (it: Vitest.MethodsNonLive<Accounts | Ids | Ledger | QueryLog>): void => {
  it.effect("recent entries are the account's own, newest first, as many as asked for", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const account = yield* makeAccount({ plan: "starter" })
      const other = yield* makeAccount({ plan: "starter" })
      for (const query of ["one", "two", "three"]) {
        yield* TestClock.adjust("1 second")
        yield* log.append([{ ...(yield* makeRecord(account, query)), credits: 0 }])
        yield* log.append([{ ...(yield* makeRecord(other, query)), credits: 0 }])
      }
      const recent = yield* log.recent(account.id, 2)
      assert.deepStrictEqual(
        recent.map(({ accountId, request }) => [accountId, request.query]),
        [
          [account.id, "three"],
          [account.id, "two"]
        ]
      )
      assert.isAbove(recent[0]?.at ?? 0, 0)
    })
  )

  it.effect("searches that no account pays for are written as they are, and upset no book", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const account = yield* makeAccount({ plan: "starter" })
      yield* log.append([])
      const record: LogEntry = {
        ...(yield* makeRecord(account, "free")),
        credits: 0,
        requestId: "6f1c1f4e-3a5e-4f0e-9d55-0a1b2c3d4e5f",
        rowIndex: 3,
        refusals: [
          { provider: "meta/google", reason: "cut_off", ms: 5_003 },
          { provider: "brave", reason: "merged", ms: 12, only: 3 }
        ]
      }
      yield* log.append([yield* makeRecord(undefined), record])
      const [logged] = yield* log.recent(account.id, 10)
      const { at: _, ...entry } = logged ?? { at: 0 }
      assert.deepStrictEqual(entry, record)
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
    })
  )

  it.effect("R62: the options of a search are kept, are filters of the history, and are erased", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const account = yield* makeAccount({ plan: "starter" })
      const all: ReadonlyArray<SearchOptions | undefined> = [
        undefined,
        { freshness: "week", topic: "news" },
        { after: "2026-01-01", before: "2026-01-31", includeDomains: ["a.org"] },
        { excludeDomains: ["a.org", "b.org"] }
      ]
      for (const options of all) {
        yield* TestClock.adjust("1 second")
        const record = yield* makeRecord(account)
        const request = options === undefined ? record.request : { ...record.request, options }
        yield* log.append([{ ...record, credits: 0, request }])
      }
      const history = (filter: Partial<HistoryFilter>) =>
        Effect.map(
          log.history(account.id, { filter: { ...everything, ...filter }, after: undefined, limit: 9 }),
          ({ entries }) => entries.map(({ request }) => request.options).reverse()
        )
      assert.deepStrictEqual(yield* history({}), all)
      assert.deepStrictEqual(yield* history({ option: "topic" }), [all[1]])
      assert.deepStrictEqual(yield* history({ option: "include_domains" }), [all[2]])
      assert.deepStrictEqual(yield* history({ domain: "a.org" }), [all[2], all[3]])
      assert.deepStrictEqual(yield* history({ domain: "c.org" }), [])
      yield* log.erase(account.id)
      assert.deepStrictEqual(yield* history({}), [undefined, undefined, undefined, undefined])
    })
  )

  /** Entries of one account, oldest first, each a moment after the one before. */
  const logged = Effect.fnUntraced(function* (entries: ReadonlyArray<Partial<LogEntry>>) {
    const log = yield* QueryLog
    const account = yield* makeAccount({ plan: "starter" })
    for (const entry of entries) {
      yield* TestClock.adjust("1 second")
      yield* log.append([{ ...(yield* makeRecord(account)), ...entry, credits: entry.credits ?? 0 }])
    }
    return account.id
  })

  const pagesOf = Effect.fnUntraced(function* (accountId: string, limit: number, meanwhile: Effect.Effect<void>) {
    const log = yield* QueryLog
    const pages: Array<ReadonlyArray<string>> = []
    let after: Position | undefined
    do {
      const page = yield* log.history(accountId, { filter: everything, after, limit })
      pages.push(page.entries.map(({ id }) => id))
      after = page.next
      yield* meanwhile
    } while (after !== undefined)
    return pages
  })

  it.effect("history returns every entry once, newest first, while others are logged", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const accountId = yield* logged(Array.from({ length: 5 }, () => ({})))
      // A batch: more entries of one moment than a page holds.
      const batch = yield* Effect.all(
        Array.from({ length: 6 }, () => makeRecord(undefined)),
        {}
      )
      yield* log.append(batch.map((record) => ({ ...record, accountId })))
      const before = (yield* log.recent(accountId, 100)).map(({ id }) => id)
      assert.strictEqual(before.length, 11)
      const another = Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        yield* log.append([{ ...(yield* makeRecord(undefined)), accountId }])
      })
      const context = yield* Effect.context<Ids>()
      const pages = yield* pagesOf(accountId, 4, Effect.provideContext(another, context))
      assert.deepStrictEqual(
        pages.map((page) => page.length),
        [4, 4, 3]
      )
      assert.deepStrictEqual(pages.flat(), before)
      assert.strictEqual((yield* pagesOf(accountId, 14, Effect.void)).length, 1)
    })
  )

  it.effect("history is filtered by kind, by request and by the least duration", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const record = yield* makeRecord(undefined)
      const requestId = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
      const accountId = yield* logged([
        { durationMs: 40 },
        { durationMs: 1_200, requestId },
        { request: { ...record.request, target: "page" }, durationMs: 900 }
      ])
      const all = [...(yield* log.recent(accountId, 100))].reverse()
      const find = (filter: Partial<HistoryFilter>) =>
        Effect.map(
          log.history(accountId, { filter: { ...everything, ...filter }, after: undefined, limit: 100 }),
          ({ entries }) => entries.map(({ id }) => all.findIndex((entry) => entry.id === id)).reverse()
        )
      assert.deepStrictEqual(yield* find({ kind: "search" }), [0, 1])
      assert.deepStrictEqual(yield* find({ kind: "page" }), [2])
      assert.deepStrictEqual(yield* find({ requestId }), [1])
      assert.deepStrictEqual(yield* find({ minDurationMs: 900 }), [1, 2])
      assert.deepStrictEqual(yield* find({ minDurationMs: 900, kind: "search" }), [1])
    })
  )

  it.effect("history is filtered by each field, and by all of them together", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const record = yield* makeRecord(undefined)
      const request = (fields: Partial<LogEntry["request"]>) => ({ request: { ...record.request, ...fields } })
      const batchId = yield* makeEmail
      const accountId = yield* logged([
        {},
        request({ target: "beta_search" }),
        { outcome: "upstream_error" },
        { keyId: "key_1" },
        { batchId },
        request({ source: "cron" }),
        request({ query: "Why 100% of _Effect_?" }),
        { ...request({ target: "beta_search", source: "cron" }), keyId: "key_1", outcome: "upstream_timeout", batchId }
      ])
      const all = [...(yield* log.recent(accountId, 100))].reverse()
      const find = (filter: Partial<HistoryFilter>) =>
        Effect.map(
          log.history(accountId, { filter: { ...everything, ...filter }, after: undefined, limit: 100 }),
          ({ entries, next }) => {
            assert.isUndefined(next)
            return entries.map(({ id }) => all.findIndex((entry) => entry.id === id)).reverse()
          }
        )
      assert.deepStrictEqual(yield* find({}), [0, 1, 2, 3, 4, 5, 6, 7])
      assert.deepStrictEqual(yield* find({ target: "beta_search" }), [1, 7])
      assert.deepStrictEqual(yield* find({ outcome: "upstream_error" }), [2])
      assert.deepStrictEqual(yield* find({ keyId: "key_1" }), [3, 7])
      assert.deepStrictEqual(yield* find({ batchId }), [4, 7])
      assert.deepStrictEqual(yield* find({ id: all[6]?.id }), [6])
      assert.deepStrictEqual(yield* find({ id: all[6]?.id, batchId }), [])
      assert.deepStrictEqual(yield* find({ source: "cron" }), [5, 7])
      assert.deepStrictEqual(yield* find({ text: "of _effect" }), [6])
      assert.deepStrictEqual(yield* find({ text: "100%" }), [6])
      assert.deepStrictEqual(yield* find({ text: "%" }), [6])
      // A store's clock may give neighbors the same millisecond.
      const since = all[5]?.at ?? 0
      const indices = (keep: (entry: StoredLogEntry) => boolean) => all.flatMap((entry, n) => (keep(entry) ? [n] : []))
      assert.deepStrictEqual(
        yield* find({ from: since }),
        indices(({ at }) => at >= since)
      )
      assert.deepStrictEqual(
        yield* find({ to: since }),
        indices(({ at }) => at < since)
      )
      assert.deepStrictEqual(yield* find({ to: (all[0]?.at ?? 0) - 60_000 }), [])
      assert.deepStrictEqual(
        yield* find({
          target: "beta_search",
          outcome: "upstream_timeout",
          keyId: "key_1",
          batchId,
          source: "cron",
          text: "QUARRY",
          from: all[0]?.at,
          to: (all[7]?.at ?? 0) + 60_000
        }),
        [7]
      )
    })
  )

  it.effect("filtered pages end where they are full, and go on from there", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const accountId = yield* logged(Array.from({ length: 9 }, (_, n) => ({ keyId: n % 3 === 0 ? "key_1" : "key_2" })))
      const filter = { ...everything, keyId: "key_1" }
      const first = yield* log.history(accountId, { filter, after: undefined, limit: 2 })
      const second = yield* log.history(accountId, { filter, after: first.next, limit: 2 })
      assert.strictEqual(first.entries.length, 2)
      assert.strictEqual(second.entries.length, 1)
      assert.isUndefined(second.next)
    })
  )

  it.effect("no filter finds another account's entries", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const batchId = yield* makeEmail
      const other = yield* logged([{ keyId: "key_other", batchId }])
      const [entry] = yield* log.recent(other, 1)
      const accountId = yield* logged([{}])
      for (const filter of [{ batchId }, { keyId: "key_other" }, { id: entry?.id ?? "" }]) {
        const page = yield* log.history(accountId, { filter: { ...everything, ...filter }, after: undefined, limit: 9 })
        assert.deepStrictEqual(page, { entries: [], next: undefined })
      }
    })
  )

  it.effect("usage counts searches, credits and outcomes by time and by group", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const record = yield* makeRecord(undefined)
      const beta = { request: { ...record.request, target: "beta_search" as const } }
      const accountId = yield* logged([
        { keyId: "key_1" },
        { keyId: "key_1", outcome: "upstream_error" },
        { keyId: "key_2", outcome: "upstream_timeout", ...beta },
        { ...beta }
      ])
      const times = (yield* log.recent(accountId, 9)).map(({ at }) => at)
      const query = (groupBy: UsageQuery["groupBy"]): UsageQuery => ({
        from: Math.min(...times) - 60_000,
        to: Math.max(...times) + 60_000,
        granularity: "month",
        groupBy
      })
      const [month] = yield* log.usage(accountId, query(undefined))
      const { day, hour, minute } = DateTime.toPartsUtc(DateTime.makeUnsafe(month?.start ?? 1))
      assert.deepStrictEqual([day, hour, minute], [1, 0, 0])
      assert.deepInclude(month, {
        group: undefined,
        searches: 4,
        credits: 0,
        outcomes: { ok: 2, upstream_error: 1, upstream_timeout: 1, page_unreadable: 0 }
      })
      const groups = (groupBy: UsageQuery["groupBy"]) =>
        Effect.map(log.usage(accountId, query(groupBy)), (rows) => rows.map(({ group, searches }) => [group, searches]))
      assert.deepStrictEqual(yield* groups("target"), [
        ["alpha_search", 2],
        ["beta_search", 2]
      ])
      assert.deepStrictEqual(yield* groups("key"), [
        ["key_1", 2],
        ["key_2", 1],
        [undefined, 1]
      ])
      assert.deepStrictEqual(yield* log.usage(accountId, { ...query(undefined), to: Math.min(...times) }), [])
      assert.deepStrictEqual(yield* log.usage("acc_none", query(undefined)), [])
    })
  )

  it.effect("usage counts the credits that were charged", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "starter" })
      yield* ledger.settle(yield* ledger.reserve(account, 3), [yield* makeRecord(account), yield* makeRecord(account)])
      const [entry] = yield* log.recent(account.id, 1)
      const at = entry?.at ?? 0
      const usage: UsageQuery = { from: at - 3_600_000, to: at + 1_000, granularity: "hour", groupBy: undefined }
      assert.strictEqual(total(yield* log.usage(account.id, usage)).credits, 2)
    })
  )

  it.effect("erasing an account's searches leaves its entries and upsets no book", () =>
    Effect.gen(function* () {
      const log = yield* QueryLog
      const ledger = yield* Ledger
      const account = yield* makeAccount({ plan: "starter" })
      const other = yield* makeAccount({ plan: "starter" })
      for (const owner of [account, other]) {
        yield* ledger.settle(yield* ledger.reserve(owner, 2), [yield* makeRecord(owner), yield* makeRecord(owner)])
      }
      yield* log.erase(account.id)
      const textsOf = (accountId: string) =>
        Effect.map(log.recent(accountId, 9), (entries) => entries.map(({ request }) => request.query + request.source))
      assert.deepStrictEqual(yield* textsOf(account.id), ["", ""])
      assert.deepStrictEqual(yield* textsOf(other.id), ["quarryapi", "quarryapi"])
      assert.deepStrictEqual(yield* discrepanciesOf(account), [])
      yield* log.erase("acc_none")
    })
  )
}
