import { Effect, Schema } from "effect"
import { jsonSearchFields, searchRules, toSearch } from "../../domain/search/SearchRequest.ts"
import { SearchResult, toSearchResult } from "../../domain/search/SearchResult.ts"
import { describeTargets, type TargetLabels } from "../../domain/search/TargetLabels.ts"
import { encodeSearch } from "../../http/handlers/searchResponses.ts"
import { NamedTargets } from "../../services/providers/NamedTargets.ts"
import { Search } from "../../services/search/Search.ts"
import { defaultSource, makeTool } from "../Tool.ts"
import { maxCharacters, searchText } from "../text.ts"

const defaultCharacters = 10_000

const Arguments = Schema.Struct({ ...jsonSearchFields, max_characters: maxCharacters(defaultCharacters) }).check(
  ...searchRules
)

const targetsText = (labels: TargetLabels): string => {
  const text = describeTargets(labels)
  return text === "" ? "" : ` Targets: ${text}`
}

export const webSearch = Effect.map(Effect.all([Search, NamedTargets]), ([search, labels]) =>
  makeTool({
    name: "web_search",
    title: "Web search",
    description:
      "Searches the web and returns ranked results: title, URL, domain and snippet. Use it for anything recent, specific " +
      'or that needs a source. Only query is needed, as in {"query": "css grid subgrid support"}; geo and locale choose ' +
      'country and language, as in {"query": "mietpreise", "geo": "de", "num": 5}; page and num the depth, target another ' +
      "search engine; freshness, after and before the time, include_domains and exclude_domains the sites, topic news. Returns no page contents. Costs one credit; for several searches at once use bulk_search." +
      targetsText(labels),
    arguments: Arguments,
    output: SearchResult,
    openWorld: true,
    scope: "search",
    call: Effect.fnUntraced(function* (principal, { max_characters = defaultCharacters, ...fields }) {
      const request = yield* Effect.fromResult(toSearch({ source: defaultSource, ...fields }))
      const body = yield* Effect.fromResult((yield* search.run(principal, request)).body)
      return { structured: encodeSearch(body), text: searchText(toSearchResult(body), max_characters) }
    })
  })
)
