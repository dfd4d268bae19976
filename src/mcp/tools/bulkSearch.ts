import { Effect, Schema } from "effect"
import { BulkRequest, parseBulk } from "../../domain/BulkRequest.ts"
import { BulkResult, toBulkResult } from "../../domain/BulkResult.ts"
import { reader } from "../../domain/fields.ts"
import { Bulk } from "../../services/Bulk.ts"
import { withMaxCharacters } from "../arguments.ts"
import { defaultSource, type Tool } from "../Tool.ts"
import { bulkText, maxCharacters } from "../text.ts"

const defaultCharacters = 40_000

const MaxCharacters = maxCharacters(defaultCharacters)
const readMaxCharacters = reader(MaxCharacters)

export const bulkSearch = Effect.map(
  Bulk,
  (bulk): Tool => ({
    name: "bulk_search",
    title: "Bulk web search",
    description:
      "Runs 1 to 50 web searches side by side inside 60 seconds. Use it instead of several web_search calls. Each entry " +
      "of queries is a query string, or an object that overrides target, geo, locale or num for its search. Results come " +
      "back in input order; a search that fails is an entry with status error and the others are answered all the same. " +
      "Costs one credit for each search that is run.",
    input: Schema.Struct({ ...BulkRequest.fields, max_characters: Schema.optionalKey(MaxCharacters) }),
    output: BulkResult,
    openWorld: true,
    call: Effect.fnUntraced(function* (principal, args) {
      const parsed = parseBulk({ source: defaultSource, ...args })
      const [rows, characters] = yield* withMaxCharacters(args, readMaxCharacters, defaultCharacters, parsed)
      const result = toBulkResult((yield* bulk.run(principal, rows)).body)
      return { structured: { ...result }, text: bulkText(result, characters) }
    })
  })
)
