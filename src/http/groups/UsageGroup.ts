import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { everyRole, readers } from "../../domain/accounts/Role.ts"
import { Outcome, PublicReason } from "../../domain/log/LogEntry.ts"
import { Cursor, HistoryParameters, RecentParameters } from "../../domain/log/QueryHistory.ts"
import { Granularity, Grouping, UsageParameters } from "../../domain/log/Usage.ts"
import { LoggedOptions } from "../../domain/options/SearchOptions.ts"
import { AnyTarget, Safe } from "../../domain/search/Target.ts"
import { UnreadableReason } from "../../domain/UnreadableReason.ts"
import { acceptingSessions } from "../Callers.ts"
import { InternalError, InvalidRequest } from "../errors.ts"
import { Gates, RequestDecoding } from "../Gates.ts"
import { Moment, momentOrNull } from "../timestamps.ts"

const Outcomes = Schema.Struct({
  ok: Schema.Int,
  upstream_error: Schema.Int,
  upstream_timeout: Schema.Int,
  page_unreadable: Schema.Int
}).annotate({ identifier: "Outcomes", description: "Searches and pages by how they ended" })

const counts = {
  searches: Schema.Int,
  credits: Schema.Int.annotate({ description: "Credits charged" }),
  outcomes: Outcomes
}

export const Usage = Schema.Struct({
  plan: Schema.String,
  plan_name: Schema.String.annotate({ description: "Display name of the plan" }),
  period: Schema.Struct({
    start: Schema.NullOr(Moment),
    end: Schema.NullOr(Moment)
  }).annotate({ description: "The period that the quota applies to; null values on the trial, which has none" }),
  quota: Schema.NullOr(Schema.Int).annotate({
    description: "Searches the quota allows in the period; null if usage is counted but not limited"
  }),
  used: Schema.Int.annotate({
    description: "Quota credits spent, including searches in flight"
  }),
  remaining: Schema.NullOr(Schema.Int).annotate({ description: "What is left of the quota" }),
  balance: Schema.Int.annotate({ description: "Pack credits left" }),
  resets_at: momentOrNull("When the quota resets; null on the trial"),
  from: Moment,
  to: Moment,
  granularity: Granularity,
  group_by: Schema.NullOr(Grouping),
  totals: Schema.Struct(counts).annotate({ description: "The sum over the series" }),
  series: Schema.Array(
    Schema.Struct({
      start: Moment.pipe(Schema.annotateEncoded({ description: "Start of the hour, day or month in UTC" })),
      group: Schema.NullOr(Schema.String).annotate({
        description:
          "The target, the key's id, or the email address of the member whose session, app or key searched; null without group_by, or if there is none"
      }),
      ...counts
    })
  ).annotate({
    description:
      "Sorted by time and group, with every hour, day or month between from and to. An interval without searches has zero " +
      "counts and, with group_by, a null group."
  })
}).annotate({ identifier: "Usage" })

const LoggedAttempt = Schema.Struct({
  provider: Schema.NullOr(Schema.String).annotate({ description: "null if `SERVER_TIMING` is off" }),
  reason: PublicReason.annotate({
    description: "Why it gave no results; `merged` if its results are part of the search's"
  }),
  ms: Schema.Int.annotate({ description: "The time of the attempt; 0 for a provider that was not called" }),
  only: Schema.optionalKey(Schema.Int).annotate({
    description: "Results that no other provider had, if several were merged"
  })
}).annotate({ identifier: "LoggedAttempt", description: "An attempt at one provider" })

export const LoggedQuery = Schema.Struct({
  id: Schema.String.annotate({ description: "qry_ and 32 hex characters" }),
  created_at: Moment,
  batch_id: Schema.NullOr(Schema.String),
  key_id: Schema.NullOr(Schema.String).annotate({ description: "The key of the request; null for a session" }),
  kind: Schema.Literals(["search", "page"]).annotate({ description: "A search, or a page that was read" }),
  target: AnyTarget.annotate({ identifier: undefined, description: "The search target, or page" }),
  query: Schema.String.annotate({ description: "The query of a search, or the address of a page" }),
  geo: Schema.NullOr(Schema.String).annotate({ description: "null for a page, like locale, page, num and safe" }),
  locale: Schema.NullOr(Schema.String),
  page: Schema.NullOr(Schema.Int),
  num: Schema.NullOr(Schema.Int),
  safe: Schema.NullOr(Safe.annotate({ identifier: undefined })),
  options: Schema.NullOr(LoggedOptions).annotate({
    description: "The search options; null if none was used, and for a page"
  }),
  source: Schema.String,
  status: Outcome.annotate({ description: "How the search ended" }),
  credits: Schema.Int.annotate({ description: "Credits charged" }),
  cached: Schema.Boolean.annotate({ description: "Whether the answer came from the result cache" }),
  result_count: Schema.Int,
  duration_ms: Schema.Int,
  provider: Schema.NullOr(Schema.String).annotate({
    description:
      "The provider that returned the results; null if none did, if they came from the cache, or if `SERVER_TIMING` is off"
  }),
  attempts: Schema.Array(LoggedAttempt).annotate({
    description: "The providers that gave no results, in the order of the attempts, and those whose results were merged"
  }),
  request_id: Schema.NullOr(Schema.String).annotate({
    description: "The `X-Request-Id` of the request, in lower case; null in entries of older versions"
  }),
  row: Schema.NullOr(Schema.Int).annotate({
    description: "The position in the batch, from 0; null for a single search"
  }),
  host: Schema.NullOr(Schema.String).annotate({ description: "The host of a page; null for a search" }),
  reason: Schema.NullOr(UnreadableReason.annotate({ identifier: undefined })).annotate({
    description: "Why a page could not be read; null for a search, and for a page that was read"
  }),
  bytes: Schema.NullOr(Schema.Int).annotate({ description: "The size of a page's document; null for a search" })
}).annotate({ identifier: "LoggedQuery" })

export const RecentQueries = Schema.Struct({ queries: Schema.Array(LoggedQuery) }).annotate({
  identifier: "RecentQueries"
})

export const nextCursor = Schema.NullOr(Cursor).annotate({
  description:
    "The cursor of the next page; null on the last page. A page can be short or empty without being the last."
})

export const QueryHistory = Schema.Struct({
  queries: Schema.Array(LoggedQuery),
  next_cursor: nextCursor
}).annotate({ identifier: "QueryHistory" })

export class UsageGroup extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("usage", "/v1/usage", {
      query: UsageParameters,
      success: Usage,
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "usage",
          summary: "What was used",
          description: "Quota and balance now, and the logged searches counted by time."
        })
      ),
    HttpApiEndpoint.get("recent", "/v1/query/recent", {
      query: RecentParameters,
      success: RecentQueries,
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "recentQueries",
          summary: "Latest searches",
          description: "The latest entries of the query log, newest first."
        })
      ),
    HttpApiEndpoint.get("history", "/v1/query/history", {
      query: HistoryParameters,
      success: QueryHistory,
      error: [InvalidRequest, InternalError]
    })
      .middleware(RequestDecoding)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "queryHistory",
          summary: "Searches page by page",
          description: "The query log, newest first. New searches do not change the pages after a cursor."
        })
      )
  )
  .pipe(acceptingSessions({ usage: everyRole, recent: readers, history: readers }))
  .middleware(Gates)
  .annotateMerge(OpenApi.annotations({ title: "Usage", description: "Searches of the signed-in account" })) {}
