import { readParts } from "../../../domain/index/QueryTerms.ts"
import { parseSite, siteParts } from "../../../domain/options/Sites.ts"
import type { UpstreamCall } from "../../../domain/search/Capabilities.ts"
import type { Target } from "../../../domain/search/Target.ts"
import { allTargets, groupOf, type LanguageGroup, plainFields, weightedFields } from "./mapping.ts"

/** `combined_fields` is BM25F. Engines without it have `cross_fields`, which is similar. */
export type Scoring = "combined_fields" | "cross_fields"

/** Less than a provider's share of a search's time, so that the engine returns what it has by then. */
const engineTimeout = "4s"

const snippet = { fragments: 2, units: 150 }

const inPlain = (text: string) => ({ multi_match: { query: text, type: "phrase", fields: plainFields } })

const scored = (scoring: Scoring, query: string, group: LanguageGroup | "plain") => {
  const fields = weightedFields(group)
  return scoring === "combined_fields"
    ? { combined_fields: { query, fields, operator: "or" } }
    : { multi_match: { query, type: "cross_fields", fields, operator: "or" } }
}

const belowSite = (text: string): object => {
  const site = parseSite(text)
  if (site === undefined) return { match_none: {} }
  const { host, path } = siteParts(site)
  const onHost = { term: { sites: host } }
  return path === "" ? onHost : { bool: { filter: [onHost, { prefix: { path } }] } }
}

const anyOf = (queries: ReadonlyArray<object>): ReadonlyArray<object> =>
  queries.length === 0 ? [] : [{ bool: { should: queries, minimum_should_match: 1 } }]

/** Words match in the query's language and unstemmed; phrases, exclusions and sites are strict. */
export const searchBody = (call: UpstreamCall, target: Target, scoring: Scoring) => {
  const { excluded, excludedSites, phrases, sites, words } = readParts(call.query)
  const group = groupOf(call.language)
  const groups = group === "other" ? (["plain"] as const) : ([group, "plain"] as const)
  return {
    from: call.offset,
    size: call.rows,
    timeout: engineTimeout,
    track_total_hits: false,
    _source: ["url", "*.title", "*.description"],
    query: {
      bool: {
        must: [
          ...(words === "" ? [] : [{ dis_max: { queries: groups.map((group) => scored(scoring, words, group)) } }]),
          ...phrases.map(inPlain)
        ],
        filter: [{ terms: { target: [target, allTargets] } }, ...anyOf(sites.map(belowSite))],
        must_not: [...excluded.map(inPlain), ...excludedSites.map(belowSite)]
      }
    },
    highlight: {
      type: "unified",
      require_field_match: false,
      pre_tags: [""],
      post_tags: [""],
      fragment_size: snippet.units,
      number_of_fragments: snippet.fragments,
      order: "score",
      fields: { "*.content": {} }
    }
  }
}
