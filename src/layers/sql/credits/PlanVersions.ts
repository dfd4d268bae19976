import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { constantHistory, type PlanHistory } from "../../../domain/billing/PlanHistory.ts"
import type { PlanTerms, TermsTable } from "../../../domain/credits/Plan.ts"
import { rowsOf } from "../Rows.ts"

const Terms = Schema.Struct({ quota: Schema.NullOr(Schema.Int), concurrency: Schema.Int })

const versionRows = rowsOf(
  Schema.Struct({
    since: Schema.Date,
    terms: Schema.Struct({ trial: Terms, starter: Terms, growth: Terms, business: Terms, custom: Terms })
  })
)

const eachPlan = <A, B>(
  { business, custom, growth, starter, trial }: Readonly<Record<keyof TermsTable, A>>,
  f: (terms: A) => B
) => ({
  trial: f(trial),
  starter: f(starter),
  growth: f(growth),
  business: f(business),
  custom: f(custom)
})

/** Oldest first. The process's own plans if no server has stored a version yet. */
export const read = (sql: SqlClient.SqlClient, own: TermsTable) =>
  Effect.map(versionRows(sql`select since, terms from plan_versions order by id`), (rows): PlanHistory => {
    const [first, ...others] = rows.map(({ since, terms }) => ({
      since: since.getTime(),
      terms: eachPlan(terms, ({ concurrency, quota }): PlanTerms => ({ quota: quota ?? undefined, concurrency }))
    }))
    return first === undefined ? constantHistory(own) : [first, ...others]
  })

export const add = (sql: SqlClient.SqlClient, terms: TermsTable, since: number) => {
  const json = eachPlan(terms, ({ concurrency, quota = null }) => ({ quota, concurrency }))
  return sql`insert into plan_versions (since, terms) values (${new Date(since)}, ${JSON.stringify(json)}::jsonb)`
}
