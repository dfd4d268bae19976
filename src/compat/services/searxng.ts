import { Effect, Result, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { freshnessPeriods } from "../../domain/options/SearchOptions.ts"
import { decoder, Text } from "../../domain/requests/fields.ts"
import type { OrganicResult } from "../../domain/search/OrganicResult.ts"
import { SearchParameters } from "../../domain/search/SearchRequest.ts"
import { safeLevels, type Target } from "../../domain/search/Target.ts"
import { readForm } from "../../http/requests/body.ts"
import { parseQueryOf } from "../../http/requests/query.ts"
import { ownErrors } from "../CompatError.ts"
import type { CompatService } from "../CompatService.ts"
import { alias, documented, parametersOf } from "../endpoints.ts"
import { exampleResults } from "../examples.ts"
import { LongQuery, placeOf } from "../fields.ts"
import type { CompatResults, Engines, SearchForm } from "../SearchForm.ts"

const SearxngParameters = Schema.Struct({
  q: LongQuery,
  format: Schema.optionalKey(
    Schema.Literal("json").annotate({ message: "must be json", description: "The only supported format." })
  ),
  pageno: SearchParameters.fields.page,
  language: Schema.optionalKey(
    Text.annotate({ description: "A language tag such as de, de-AT or zh-Hant; all and auto are the default." })
  ),
  safesearch: Schema.optionalKey(
    Schema.Literals(["0", "1", "2"]).annotate({
      message: "must be 0, 1 or 2",
      description: "Off, moderate or strict. Ignored if the target has no safe search."
    })
  ),
  time_range: Schema.optionalKey(
    Schema.Literals(freshnessPeriods).annotate({
      message: `must be one of ${freshnessPeriods.join(", ")}`,
      description: "Only results published or found in this time."
    })
  ),
  categories: Schema.optionalKey(
    Text.annotate({ description: "Comma-separated categories. news searches for news; others are ignored." })
  ),
  engines: Schema.optionalKey(
    Text.annotate({
      description: "Comma-separated engine names. The first name that the operator mapped to a target is used."
    })
  )
})

/** Each parameter of a POST may be in the URL or in the form. */
const SearxngForm = Schema.Struct({ ...SearxngParameters.fields, q: Schema.optionalKey(LongQuery) })

const SearxngResult = Schema.Struct({
  title: Schema.String,
  url: Schema.String,
  content: Schema.String,
  engine: Schema.String,
  engines: Schema.Array(Schema.String),
  category: Schema.String,
  positions: Schema.Array(Schema.Int),
  score: Schema.Finite.annotate({ description: "1 for the first result, 1/2 for the second, and so on" }),
  parsed_url: Schema.Array(Schema.String).annotate({
    description: "Scheme, host, path, path parameters, query and fragment"
  }),
  template: Schema.String,
  publishedDate: Schema.NullOr(Schema.String),
  thumbnail: Schema.String
})

const none = Schema.Array(Schema.String).annotate({ description: "Always empty" })

const SearxngAnswer = Schema.Struct({
  query: Schema.String,
  number_of_results: Schema.Int,
  results: Schema.Array(SearxngResult),
  answers: none,
  corrections: none,
  infoboxes: none,
  suggestions: none,
  unresponsive_engines: none
}).annotate({ identifier: "SearxngAnswer", description: "A response in SearXNG's format" })
type SearxngAnswer = typeof SearxngAnswer.Type

const summary = "Search as in SearXNG"

const description =
  "SearXNG's JSON search. /compat/searxng and /compat/searxng/ are the same, because clients differ in what they add to " +
  "the address. "

const get = { success: SearxngAnswer, error: ownErrors }
const post = { ...get, payload: SearxngForm.pipe(HttpApiSchema.asFormUrlEncoded()) }

class SearxngGroup extends HttpApiGroup.make("compatSearxng")
  .add(
    HttpApiEndpoint.get("getSearch", "/compat/searxng/search", get).annotateMerge(
      documented({ identifier: "compatSearxng", summary, description, parameters: parametersOf(SearxngParameters) })
    ),
    HttpApiEndpoint.post("postSearch", "/compat/searxng/search", post).annotateMerge(
      documented({
        identifier: "compatSearxngForm",
        summary: `${summary}, by a form`,
        description: `${description}Parameters can be in the URL, the form or both, and the body may be empty.`,
        parameters: parametersOf(SearxngForm)
      })
    ),
    HttpApiEndpoint.get("getBare", "/compat/searxng", get).annotateMerge(alias),
    HttpApiEndpoint.post("postBare", "/compat/searxng", post).annotateMerge(alias),
    HttpApiEndpoint.get("getSlash", "/compat/searxng/", get).annotateMerge(alias),
    HttpApiEndpoint.post("postSlash", "/compat/searxng/", post).annotateMerge(alias)
  )
  .annotateMerge(
    OpenApi.annotations({ title: "SearXNG", description: "For programs with a configurable SearXNG address" })
  ) {}

const anyLanguage: ReadonlySet<string> = new Set(["all", "auto"])

const languageOf = (language: string | undefined): string | undefined =>
  language === undefined || anyLanguage.has(language.toLowerCase()) ? undefined : language

const targetOf = (names: string | undefined, engines: Engines): Target | undefined => {
  const asked = names?.split(",").map((name) => name.trim().toLowerCase()) ?? []
  const name = asked.find((engine) => Object.hasOwn(engines, engine))
  return name === undefined ? undefined : engines[name]
}

/** Splits a URL into the six parts of Python's `urlparse`. */
const parsedUrl = (text: string): ReadonlyArray<string> => {
  const { hash, host, pathname, protocol, search } = new URL(text)
  return [protocol.slice(0, -1), host, pathname, "", search.slice(1), hash.slice(1)]
}

const toRow = ({ position, published, snippet, title, url }: OrganicResult): SearxngAnswer["results"][number] => ({
  title,
  url,
  content: snippet,
  engine: "quarry",
  engines: ["quarry"],
  category: "general",
  positions: [position],
  // Open WebUI sorts by the score.
  score: 1 / position,
  parsed_url: parsedUrl(url),
  template: "default.html",
  publishedDate: published ?? null,
  thumbnail: ""
})

const answer = ({ query, results }: CompatResults): SearxngAnswer => ({
  query,
  number_of_results: results.length,
  results: results.map(toRow),
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: [],
  unresponsive_engines: []
})

const decode = decoder(SearxngParameters)

/** SearXNG's JSON search. Clients send parameters in the URL, in a form or both; the form takes precedence. */
const form: SearchForm = {
  name: "searxng",
  fields: Object.keys(SearxngParameters.fields),
  read: (request) => {
    const parameters = Effect.fromResult(parseQueryOf(request))
    if (request.method !== "POST") return parameters
    return Effect.zipWith(parameters, readForm(request), (parameters, form) => ({ ...parameters, ...form }))
  },
  decode: (fields, engines) =>
    Result.flatMap(decode(fields), ({ categories = "", engines: names, language, pageno, q, safesearch, time_range }) =>
      Result.map(placeOf("language", languageOf(language)), (place) => ({
        query: q,
        target: targetOf(names, engines),
        ...place,
        page: pageno,
        safe: safeLevels[Number(safesearch ?? 0)],
        options: {
          freshness: time_range,
          topic: categories.split(",").some((name) => name.trim().toLowerCase() === "news") ? "news" : undefined
        },
        answer
      }))
    )
}

const example = { response: answer(exampleResults) }

export const searxng: CompatService = {
  name: "searxng",
  routes: [{ group: SearxngGroup, search: form }],
  examples: { compatSearxng: example, compatSearxngForm: example }
}
