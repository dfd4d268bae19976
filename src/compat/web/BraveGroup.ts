import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { asDigits, Text } from "../../domain/requests/fields.ts"
import { safeLevels } from "../../domain/search/Target.ts"
import { statuses } from "../../http/errors.ts"
import { errorsOf } from "../CompatError.ts"
import { documented, parametersOf } from "../endpoints.ts"
import { Count, countMessage, LongQuery } from "../fields.ts"

export const BraveParameters = Schema.Struct({
  q: LongQuery,
  count: Schema.optionalKey(
    asDigits(Count, countMessage).pipe(
      Schema.annotateEncoded({ description: "Maximum number of results; 20 if absent." })
    )
  ),
  offset: Schema.optionalKey(
    asDigits(Count, countMessage).pipe(
      Schema.annotateEncoded({ description: "Pages to skip, each of count results; 0 if absent." })
    )
  ),
  country: Schema.optionalKey(Text.annotate({ description: "An ISO 3166-1 code; ALL is the default." })),
  search_lang: Schema.optionalKey(Text.annotate({ description: "A language tag such as de or pt-br." })),
  safesearch: Schema.optionalKey(
    Schema.Literals(safeLevels).annotate({
      message: `must be one of ${safeLevels.join(", ")}`,
      description: "Off if absent. Ignored if the target has no safe search."
    })
  )
})

const Result = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  url: Schema.String,
  description: Schema.String,
  is_source_local: Schema.Boolean,
  is_source_both: Schema.Boolean,
  family_friendly: Schema.Boolean,
  language: Schema.String,
  profile: Schema.Struct({ name: Schema.String, url: Schema.String, long_name: Schema.String }),
  meta_url: Schema.Struct({
    scheme: Schema.String,
    netloc: Schema.String,
    hostname: Schema.String,
    path: Schema.String
  })
})

export const BraveAnswer = Schema.Struct({
  type: Schema.String,
  query: Schema.Struct({ original: Schema.String, more_results_available: Schema.Boolean }),
  mixed: Schema.Struct({
    type: Schema.String,
    main: Schema.Array(Schema.Struct({ type: Schema.String, index: Schema.Int, all: Schema.Boolean })),
    top: Schema.Array(Schema.String),
    side: Schema.Array(Schema.String)
  }),
  web: Schema.Struct({ type: Schema.String, results: Schema.Array(Result), family_friendly: Schema.Boolean })
}).annotate({ identifier: "BraveAnswer", description: "A response in the format of Brave's web search" })
export type BraveAnswer = typeof BraveAnswer.Type

export const BraveError = Schema.Struct({
  type: Schema.String,
  error: Schema.Struct({
    status: Schema.Int,
    code: Schema.String,
    detail: Schema.String.annotate({ description: "Human-readable error message" })
  })
}).annotate({ identifier: "BraveError", description: "An error in Brave's format" })
export type BraveError = typeof BraveError.Type

export class BraveGroup extends HttpApiGroup.make("compatBrave")
  .add(
    HttpApiEndpoint.get("search", "/compat/brave/res/v1/web/search", {
      success: BraveAnswer,
      error: errorsOf(BraveError, statuses)
    }).annotateMerge(
      documented({
        identifier: "compatBrave",
        summary: "Search as in Brave's Search API",
        description: "Brave's web search, with web results alone: no news, videos, summaries or discussions.",
        parameters: parametersOf(BraveParameters)
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Brave", description: "For programs with a configurable address for Brave's search" })
  ) {}
