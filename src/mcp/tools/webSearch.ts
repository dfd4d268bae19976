import { Effect, Schema } from "effect"
import { reader } from "../../domain/fields.ts"
import { parse, SearchFields, toolForm } from "../../domain/SearchRequest.ts"
import { SearchResult, toSearchResult } from "../../domain/SearchResult.ts"
import { Search } from "../../services/Search.ts"
import { withMaxCharacters } from "../arguments.ts"
import { defaultSource, type Tool } from "../Tool.ts"
import { maxCharacters, searchText } from "../text.ts"

const defaultCharacters = 10_000

const MaxCharacters = maxCharacters(defaultCharacters)
const readMaxCharacters = reader(MaxCharacters)

export const webSearch = Effect.map(
  Search,
  (search): Tool => ({
    name: "web_search",
    title: "Web search",
    description:
      "Searches the web and returns ranked results: title, URL, domain and snippet. Use it for anything recent, specific " +
      "or that needs a source. Only query is needed; geo and locale choose the country and language, page and num the " +
      "depth, target another search engine. Returns no page contents. Costs one credit; for several searches at once " +
      "use bulk_search.",
    input: Schema.Struct({ ...SearchFields.fields, max_characters: Schema.optionalKey(MaxCharacters) }),
    output: SearchResult,
    openWorld: true,
    call: Effect.fnUntraced(function* (principal, args) {
      const parsed = parse({ source: defaultSource, ...args }, toolForm)
      const [request, characters] = yield* withMaxCharacters(args, readMaxCharacters, defaultCharacters, parsed)
      const { body } = yield* search.run(principal, request)
      const result = toSearchResult(yield* Effect.fromResult(body))
      return { structured: { ...result }, text: searchText(result, characters) }
    })
  })
)
