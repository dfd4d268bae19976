import { Effect, Schema } from "effect"
import { BulkRequest, bulkFields, toRows } from "../../domain/BulkRequest.ts"
import { BulkResult, toBulkResult } from "../../domain/BulkResult.ts"
import { Bulk } from "../../services/Bulk.ts"
import { defaultSource, makeTool } from "../Tool.ts"
import { bulkText, maxCharacters } from "../text.ts"

const defaultCharacters = 40_000

const max_characters = maxCharacters(defaultCharacters)

export const bulkSearch = Effect.map(Bulk, (bulk) =>
  makeTool({
    name: "bulk_search",
    title: "Bulk web search",
    description:
      "Runs 1 to 50 web searches side by side inside 60 seconds. Use it instead of several web_search calls. Each entry " +
      "of queries is a query string, or an object that overrides target, geo, locale or num for its search. Results come " +
      "back in input order; a search that fails is an entry with status error and the others are answered all the same. " +
      "Costs one credit for each search that is run.",
    input: Schema.Struct({ ...BulkRequest.fields, max_characters }),
    arguments: Schema.Struct({ ...bulkFields, max_characters }),
    output: BulkResult,
    openWorld: true,
    call: Effect.fnUntraced(function* (principal, { max_characters = defaultCharacters, ...batch }) {
      const rows = toRows({ source: defaultSource, ...batch })
      const result = toBulkResult((yield* bulk.run(principal, rows)).body)
      return { structured: { ...result }, text: bulkText(result, max_characters) }
    })
  })
)
