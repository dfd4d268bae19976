import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { countHours } from "../../../../src/layers/sql/credits/UsageHours.ts"
import { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { makeAccount } from "../../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"

const all = { from: 0, to: 4e12, granularity: "month", groupBy: "member" } as const

layer(SqlStorage.layer(EmbeddedDatabase.layer))("usage by member on PGlite", (it) => {
  it.effect(
    "R67: usage is split by the addresses of members, also in hours that were counted before they were known",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const log = yield* QueryLog
        const account = yield* makeAccount({ plan: "business" })
        yield* sql`
        insert into auth_users (id, email, email_verified, name, created_at, updated_at)
        values ('ada', 'ada@example.com', true, '', now(), now())`
        const insert = (count: number, person: string | null) => sql`
        insert into queries (
          id, account_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached, result_count,
          duration_ms, created_at, person_id
        )
        select 'qry_' || gen_random_uuid(), ${account.id}, 'alpha_search', 'q', 'us', 'en-us', 1, 10, 'off', 'api', 'ok', 1,
          false, 0, 1, date_trunc('hour', clock_timestamp(), 'UTC') - interval '90 minutes', ${person}::text
        from generate_series(1, ${count}::int)`
        const counts = Effect.map(log.usage(account.id, all), (buckets) =>
          Object.fromEntries(buckets.map(({ credits, group }) => [group ?? "nobody", credits]))
        )
        yield* insert(25, "ada")
        yield* insert(5, null)
        yield* insert(2, "gone")
        assert.deepStrictEqual(yield* counts, { "ada@example.com": 25, nobody: 7 })
        yield* countHours(sql)
        assert.deepStrictEqual(yield* counts, { "ada@example.com": 25, nobody: 7 })
        yield* sql`delete from usage_hours where counted_by = 'member'`
        assert.deepStrictEqual(yield* counts, { nobody: 32 })
      })
  )
})
