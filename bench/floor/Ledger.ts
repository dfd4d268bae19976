import pg from "pg"
import { type Plan, periodAt } from "../../src/domain/credits/Plan.ts"
import type { LogEntry } from "../../src/domain/log/LogEntry.ts"
import { toColumns } from "../../src/layers/sql/search/LogRow.ts"

import { grouped } from "./grouped.ts"

// The statements, the bounds of a batch and the life of a hold are those of `src/layers/sql/credits/LedgerStatements.ts`.
const maxBatch = 256
const leaseMs = 105_000

interface Reservation {
  readonly holdId: string
  readonly accountId: string
  readonly credits: number
}

/** A row of `ledger_reserve`. The driver returns `bigint` as text. */
export interface Reserved {
  readonly status: "held" | "exceeded" | "stale" | "unknown"
  readonly plan: Plan
  readonly quota: string
  readonly used: string
  readonly balance: string
  readonly cycle_start: Date | null
  readonly period_end: Date
}

interface Ending {
  readonly holdId: string
  readonly accountId: string
  readonly entries: ReadonlyArray<LogEntry>
}

interface Settled {
  readonly charged: string
  readonly balance: string
}

const connect = async (connectionString: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

/** One connection for each kind of statement, because each kind has at most one statement in flight. */
export const makeLedger = async (databaseUrl: string) => {
  const [reserving, settling] = [await connect(databaseUrl), await connect(databaseUrl)]
  const reserve = grouped<Reservation, Reserved>(maxBatch, async (batch) => {
    const { rows } = await reserving.query<Reserved>({
      name: "reserve",
      text: `select * from ledger_reserve($1::text[], $2::text[], $3::bigint[], $4::timestamptz, $5::bigint) order by n`,
      values: [
        batch.map(({ accountId }) => accountId),
        batch.map(({ holdId }) => holdId),
        batch.map(({ credits }) => credits),
        new Date(),
        leaseMs
      ]
    })
    return rows
  })

  /** The first search of a period. */
  const open = ({ accountId }: Reservation, { cycle_start, plan }: Reserved) => {
    const now = new Date()
    const period = periodAt(plan, cycle_start?.getTime(), now.getTime())
    if (period === undefined) throw new Error(`account ${accountId} is on the trial`)
    return reserving.query({
      text: `select ledger_open($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[], $6)`,
      values: [[accountId], [plan], [cycle_start], [new Date(period.start)], [new Date(period.end)], now]
    })
  }

  return {
    reserve: async (reservation: Reservation): Promise<Reserved> => {
      const row = await reserve(reservation)
      if (row.status !== "stale") return row
      await open(reservation, row)
      return reserve(reservation)
    },
    settle: grouped<Ending, Settled>(maxBatch, async (batch) => {
      const records = batch.flatMap(({ entries }, index) =>
        entries.map((entry) => ({ n: index + 1, ...toColumns(entry) }))
      )
      const { rows } = await settling.query<Settled>({
        name: "settle",
        text: `select charged, balance from ledger_settle($1::text[], $2::text[], $3::bigint[], $4::json) order by n`,
        values: [
          batch.map(({ holdId }) => holdId),
          batch.map(({ accountId }) => accountId),
          batch.map(({ entries }) => entries.length),
          JSON.stringify(records)
        ]
      })
      return rows
    })
  }
}
