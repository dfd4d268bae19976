import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const functions = [
  "ledger_reserve(text[], text[], bigint[], timestamptz, bigint)",
  "ledger_settle(text[], text[], bigint[], json)",
  "ledger_open(text[], text[], timestamptz[], timestamptz[], timestamptz[], timestamptz)",
  "ledger_grant(text, bigint, text, text)",
  "ledger_sweep(integer)"
]

/**
 * What waits for a row that somebody else has locked gives up before the statement does, so that the caller learns
 * that it was a lock. The log's months wait shorter still: everything that writes to the log waits behind them.
 */
export const lockTimeouts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const name of functions) yield* sql`alter function ${sql.literal(name)} set lock_timeout = '2s'`
  // As the functions beside it do: holds come and go, and what is gone is still read by whoever reads the whole table.
  yield* sql`alter function ledger_sweep(integer) set enable_seqscan = off`
  for (const name of ["queries_make_partitions(timestamptz, integer)", "queries_drop_before(timestamptz)"]) {
    yield* sql`alter function ${sql.literal(name)} set lock_timeout = '500ms'`
  }
})
