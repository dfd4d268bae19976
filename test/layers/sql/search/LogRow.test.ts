import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { LogEntry } from "../../../../src/domain/log/LogEntry.ts"
import { LogRow, toColumns } from "../../../../src/layers/sql/search/LogRow.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecord } from "../../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const columns = Object.keys(LogRow.fields)
/** Columns that the database or the ledger fills. */
const others = ["hold_id", "created_at", "ordinal"]

/** The lists of columns in `queries_add`: of the insert, of its select, and of the records. */
const addedColumns =
  /insert into queries \((?<insert>[^)]*)\)\s+select (?<select>.*)\s+from json_to_recordset\(records\) as r \((?<record>[^)]*)\)/s

/** The first word of each part of a list. */
const names = (list = "") => list.split(",").map((part) => part.trim().split(" ")[0])

layer(SqlStorage.layer(EmbeddedDatabase.layer))("LogRow", (it) => {
  it.effect("the log has the listed columns, with and without null", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const found = yield* sql<{ readonly name: string; readonly nullable: boolean }>`
        select column_name as name, is_nullable = 'YES' as nullable from information_schema.columns
        where table_name = 'queries' order by ordinal_position`
      assert.sameMembers(
        found.map(({ name }) => name),
        [...columns, ...others]
      )
      assert.sameMembers(
        found.filter(({ nullable }) => nullable).map(({ name }) => name),
        [
          ...[
            "hold_id",
            "account_id",
            "key_id",
            "batch_id",
            "provider",
            "request_id",
            "row_index",
            "refusals",
            "person_id"
          ],
          // Of searches or of pages alone.
          ...["geo", "locale", "page", "num", "safe", "host", "reason", "bytes", "options"]
        ]
      )
    })
  )

  it.effect("queries_add writes the listed columns, each from the record's column of the same name", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly text: string }>`
        select prosrc as text from pg_proc where proname = 'queries_add'`
      const { insert, record, select } = addedColumns.exec(row?.text ?? "")?.groups ?? {}
      assert.deepStrictEqual(names(record), ["n", ...columns])
      assert.deepStrictEqual(
        names(insert).filter((name) => name !== "hold_id"),
        columns
      )
      assert.deepStrictEqual(
        names(select),
        names(insert).map((name) => (name === "hold_id" ? "hold_ids[r.n]" : `r.${name}`))
      )
    })
  )

  it.effect("an entry that the ledger or the log writes is read with every value", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "growth" })
      const record: LogEntry = {
        id: "qry_settled",
        accountId: account.id,
        keyId: "key_1",
        batchId: "bat_1",
        request: {
          target: "beta_search",
          query: "words",
          geo: "de",
          locale: "de-de",
          page: 2,
          num: 30,
          safe: "moderate",
          source: "dashboard"
        },
        outcome: "upstream_timeout",
        credits: 1,
        cached: true,
        provider: "meta/google",
        resultCount: 7,
        durationMs: 1234,
        requestId: "6f1c1f4e-3a5e-4f0e-9d55-0a1b2c3d4e5f",
        rowIndex: 17,
        refusals: [
          { provider: "meta/google", reason: "timeout", ms: 5003 },
          { provider: "brave", reason: "cool_down", ms: 0 }
        ]
      }
      const ledger = yield* Ledger
      const log = yield* QueryLog
      yield* ledger.settle(yield* ledger.reserve(account, 1), [record])
      yield* log.append([{ ...record, id: "qry_appended" }])
      const [appended, settled] = yield* log.recent(account.id, 10)
      assert.deepInclude(settled, record)
      assert.deepInclude(appended, { ...record, id: "qry_appended" })
    })
  )

  it.effect("R58: an entry of a page is read with every value, charged or not", () =>
    Effect.gen(function* () {
      const account = yield* makeAccount({ plan: "growth" })
      const { request: _, ...common } = yield* makeRecord(account)
      const request = { target: "page", query: "https://example.org/a", source: "api" } as const
      const page = { host: "www.example.org", reason: undefined, bytes: 4_711 }
      const read: LogEntry = { ...common, id: "pag_read", request, page }
      const unread: LogEntry = {
        ...read,
        id: "pag_unread",
        outcome: "page_unreadable",
        credits: 0,
        page: { ...page, reason: "not_found", bytes: 0 }
      }
      const ledger = yield* Ledger
      for (const entry of [read, unread]) {
        const { charged } = yield* ledger.settle(yield* ledger.reserve(account, 1), [entry])
        assert.strictEqual(charged, entry.credits)
      }
      const log = yield* QueryLog
      const [second, first] = yield* log.recent(account.id, 10)
      assert.deepInclude(first, read)
      assert.deepInclude(second, unread)
      assert.deepStrictEqual(yield* ledger.verify, [])
      yield* log.erase(account.id)
      for (const { page, request } of yield* log.recent(account.id, 10)) {
        assert.deepInclude(request, { query: "", source: "" })
        assert.strictEqual(page?.host, "")
      }
    })
  )

  it.effect("a settlement of the version before, which has no reasons of refusals, is logged", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const account = yield* makeAccount({ plan: "growth" })
      const hold = yield* (yield* Ledger).reserve(account, 1)
      const { refusals: _, request_id: __, row_index: ___, ...columns } = toColumns(yield* makeRecord(account))
      yield* sql`select charged from ledger_settle(
        ${[hold.id]}::text[], ${[account.id]}::text[], ${[1n]}::bigint[], ${JSON.stringify([{ n: 1, ...columns }])}::json
      )`
      const [entry] = yield* (yield* QueryLog).recent(account.id, 10)
      assert.deepInclude(entry, { id: columns.id, requestId: undefined, rowIndex: undefined, refusals: [] })
    })
  )
})
