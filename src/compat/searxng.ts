import { Effect, Result } from "effect"
import { decoder } from "../domain/requests/fields.ts"
import type { OrganicResult } from "../domain/search/OrganicResult.ts"
import { safeLevels, type Target } from "../domain/search/Target.ts"
import { readForm } from "../http/requests/body.ts"
import { parseQueryOf } from "../http/requests/query.ts"
import { placeOf } from "./fields.ts"
import { type SearxngAnswer, SearxngParameters } from "./SearxngGroup.ts"
import type { CompatResults, Engines, Shape } from "./Shape.ts"

const anyLanguage: ReadonlySet<string> = new Set(["all", "auto"])

const languageOf = (language: string | undefined): string | undefined =>
  language === undefined || anyLanguage.has(language.toLowerCase()) ? undefined : language

const targetOf = (names: string | undefined, engines: Engines): Target | undefined => {
  const asked = names?.split(",").map((name) => name.trim().toLowerCase()) ?? []
  const name = asked.find((it) => Object.hasOwn(engines, it))
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
export const searxng: Shape = {
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
