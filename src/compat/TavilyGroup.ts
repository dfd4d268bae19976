import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { dateText, freshnessPeriods } from "../domain/options/SearchOptions.ts"
import { acrossFields, Text } from "../domain/requests/fields.ts"
import { statuses } from "../http/errors.ts"
import { errorsOf } from "./CompatError.ts"
import { documented } from "./endpoints.ts"
import { Count, domains, LongQuery } from "./fields.ts"

const rawContentMessage = "must be true, false, markdown or text"

const RawContent = Schema.Union([Schema.Boolean, Schema.Literals(["markdown", "text"])]).annotate({
  message: rawContentMessage
})

const datesInOrder = acrossFields(({ end_date: before, start_date: after }) =>
  typeof after === "string" && typeof before === "string" && after > before
    ? { field: "start_date", message: "must not be later than end_date" }
    : undefined
)

export const TavilyRequest = Schema.Struct({
  query: LongQuery,
  max_results: Schema.optionalKey(Count.annotate({ description: "Maximum number of results; 5 if absent." })),
  country: Schema.optionalKey(Text.annotate({ description: "A country's English name or ISO 3166-1 code." })),
  safe_search: Schema.optionalKey(
    Schema.Boolean.annotate({
      message: "must be true or false",
      description: "True means strict. Ignored if the target has no safe search."
    })
  ),
  topic: Schema.optionalKey(Text.annotate({ description: "news searches for news; other topics are ignored." })),
  time_range: Schema.optionalKey(
    Schema.Literals([...freshnessPeriods, "d", "w", "m", "y"]).annotate({
      message: `must be one of ${freshnessPeriods.join(", ")}`,
      description: "Only results of the last day, week, month or year. Ignored beside start_date or end_date."
    })
  ),
  start_date: Schema.optionalKey(dateText({ description: "Only results published on this date or later, in UTC." })),
  end_date: Schema.optionalKey(dateText({ description: "Only results published on this date or earlier, in UTC." })),
  include_raw_content: Schema.optionalKey(
    RawContent.annotate({
      description: "The text of each result's page: true or markdown, or text. Each page costs a credit more."
    })
  ),
  include_domains: domains("Return only results from these sites."),
  exclude_domains: domains("Exclude results from these sites."),
  api_key: Schema.optionalKey(Text.annotate({ description: "The API key, if no header has one." }))
})
  .check(datesInOrder)
  .annotate({ identifier: "TavilyRequest", message: "the body must be a JSON object with a query" })
export type TavilyRequest = typeof TavilyRequest.Type

export const TavilyAnswer = Schema.Struct({
  query: Schema.String,
  answer: Schema.Null,
  images: Schema.Array(Schema.String).annotate({ description: "Always empty" }),
  results: Schema.Array(
    Schema.Struct({
      title: Schema.String,
      url: Schema.String,
      content: Schema.String,
      score: Schema.Finite.annotate({ description: "1 for the first result, 1/2 for the second, and so on" }),
      raw_content: Schema.NullOr(Schema.String).annotate({
        description: "The page's text, if requested and readable"
      }),
      published_date: Schema.optionalKey(
        Schema.String.annotate({ description: "Date or date-time of publication, if the engine gave one" })
      )
    })
  ),
  response_time: Schema.Finite.annotate({ description: "Seconds" }),
  request_id: Schema.String
}).annotate({ identifier: "TavilyAnswer", description: "A response in Tavily's format" })
export type TavilyAnswer = typeof TavilyAnswer.Type

export const TavilyError = Schema.Struct({
  detail: Schema.Struct({ error: Schema.String.annotate({ description: "Human-readable error message" }) })
}).annotate({ identifier: "TavilyError", description: "An error in Tavily's format" })
export type TavilyError = typeof TavilyError.Type

/** Statuses known to Tavily's clients: 432 means that the credits are spent. */
export const tavilyStatuses = { ...statuses, quota_exceeded: 432 }

export class TavilyGroup extends HttpApiGroup.make("compatTavily")
  .add(
    HttpApiEndpoint.post("search", "/compat/tavily/search", {
      payload: TavilyRequest,
      success: TavilyAnswer,
      error: errorsOf(TavilyError, tavilyStatuses)
    }).annotateMerge(
      documented({
        identifier: "compatTavily",
        summary: "Search as in Tavily",
        description: "Tavily's search, with links, snippets and, if requested, page contents, but no answers or images."
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Tavily", description: "For programs with a configurable base address for Tavily" })
  ) {}
