import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ProviderPause, ProviderPauses } from "../../../services/providers/ProviderPauses.ts"
import { columnsOf, rowsOf } from "../Rows.ts"
import { read } from "../Transaction.ts"

const PauseRow = Schema.Struct({
  provider: Schema.String,
  engine: Schema.String,
  paused_by: Schema.String,
  reason: Schema.String,
  paused_at: Schema.Date
})

const pauseRows = rowsOf(PauseRow)
const columns = columnsOf(PauseRow)

const toPause = ({ engine, paused_at, paused_by, provider, reason }: typeof PauseRow.Type): ProviderPause => ({
  provider,
  engine: engine === "" ? undefined : engine,
  by: paused_by,
  reason,
  since: paused_at.getTime()
})

export const layer: Layer.Layer<ProviderPauses, never, SqlClient.SqlClient> = Layer.effect(
  ProviderPauses,
  Effect.map(SqlClient.SqlClient, (sql) =>
    ProviderPauses.of({
      all: read(pauseRows(sql`select ${sql.literal(columns)} from provider_pauses order by provider, engine`), (rows) =>
        rows.map(toPause)
      ),
      pause: ({ by, engine = "", provider, reason }) =>
        pauseRows(sql`
          insert into provider_pauses (provider, engine, paused_by, reason)
          values (${provider}, ${engine}, ${by}, ${reason})
          on conflict (provider, engine) do update set paused_by = excluded.paused_by, reason = excluded.reason
          returning ${sql.literal(columns)}`).pipe(
          Effect.orDie,
          Effect.flatMap(([row]) =>
            row === undefined ? Effect.die(new Error("no pause")) : Effect.succeed(toPause(row))
          )
        ),
      resume: ({ engine, provider }) =>
        pauseRows(sql`
          delete from provider_pauses
          where provider = ${provider} and (${engine ?? null}::text is null or engine = ${engine ?? null}::text)
          returning ${sql.literal(columns)}`).pipe(
          Effect.orDie,
          Effect.map((rows) => rows.map(toPause))
        )
    })
  )
)
