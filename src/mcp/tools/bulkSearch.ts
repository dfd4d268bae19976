import { Effect, Schema } from "effect"
import type { AccountPrincipal } from "../../domain/accounts/Principal.ts"
import { BulkRequest, type BulkRows, bulkFields, toRows } from "../../domain/search/BulkRequest.ts"
import { type BulkBody, BulkResult, type RowBody, toBulkResult } from "../../domain/search/BulkResult.ts"
import { encodeBulk } from "../../http/handlers/searchResponses.ts"
import { Bulk } from "../../services/search/Bulk.ts"
import { defaultSource, makeTool, type Progress } from "../Tool.ts"
import { bulkText, maxCharacters } from "../text.ts"

const defaultCharacters = 40_000

const max_characters = maxCharacters(defaultCharacters)

const runWithProgress = (bulk: Bulk["Service"], principal: AccountPrincipal, rows: BulkRows, progress: Progress) =>
  Effect.scoped(
    Effect.gen(function* () {
      const batch = yield* bulk.stream(principal, rows)
      const results: Array<RowBody> = []
      let done = 0
      while (true) {
        const lines = yield* batch.take
        if (lines.length === 0) return yield* Effect.die(new Error("the batch ended without its summary"))
        for (const line of lines) {
          if (line.type === "row") {
            results[line.index] = line.body
            yield* progress(++done, rows.length)
          }
          if (line.type === "summary") {
            const { batch_id, failed, succeeded, total } = line
            return { batch_id, total, succeeded, failed, results } satisfies BulkBody
          }
        }
      }
    })
  )

export const bulkSearch = Effect.map(Bulk, (bulk) =>
  makeTool({
    name: "bulk_search",
    title: "Bulk web search",
    description:
      "Runs 1 to 50 web searches concurrently within 60 seconds. Use it instead of several web_search calls. Each entry " +
      "of queries is an object with a query, and may override target, geo, locale or num for its search, as in " +
      '{"queries": [{"query": "rust async book"}, {"query": "rust web frameworks", "num": 3}]}. Results come back in ' +
      "input order; a failed search is an entry with status error and does not affect the others. Costs one credit for " +
      "each search that is run.",
    input: Schema.Struct({ ...BulkRequest.fields, max_characters }),
    arguments: Schema.Struct({ ...bulkFields, max_characters }),
    output: BulkResult,
    openWorld: true,
    scope: "search",
    reportsProgress: true,
    call: Effect.fnUntraced(function* (principal, { max_characters = defaultCharacters, ...batch }, progress) {
      const rows = toRows({ source: defaultSource, ...batch })
      const body =
        progress === undefined
          ? (yield* bulk.run(principal, rows)).body
          : yield* runWithProgress(bulk, principal, rows, progress)
      return { structured: encodeBulk(body).join(""), text: bulkText(toBulkResult(body), max_characters) }
    })
  })
)
