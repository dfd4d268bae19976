import { Context, Effect, Layer, Metric, Result } from "effect"
import { UpstreamTimeout } from "../../domain/errors.ts"
import { unsentFailure } from "../../domain/providers/Unsent.ts"
import type { RowBody } from "../../domain/search/BulkResult.ts"
import { keepBatch, restoreBatch } from "../../domain/search/KeptAnswer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration } from "../telemetry/Metrics.ts"
import { describeSearch } from "../telemetry/Tracing.ts"
import type { AskedRows, RowKind } from "./Batch.ts"
import { type Batches, makeBatches } from "./Batches.ts"
import { countSearch, type DispatchedSearch, makeDispatch, toBody, toLogEntry } from "./DispatchedSearch.ts"
import { cacheKey } from "./ResultCache.ts"

/**
 * Limits concurrent searches of non-streamed batches in this process (R20). Each takes about 40 kB, and of many
 * thousands most would not finish within their time.
 */
const maxRunning = 512

export class Bulk extends Context.Service<Bulk, Batches<SearchRequest, RowBody>>()("quarry/services/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.gen(function* () {
      return yield* makeBatches(makeKind(yield* makeDispatch, yield* Providers))
    })
  )
}

// The cast: searches do not fail with errors of pages.
const errorRow = (error: { readonly _tag: string; readonly message: string }): RowBody =>
  ({ status: "error", error: error._tag, message: error.message }) as RowBody

const makeKind = (
  dispatch: Effect.Success<typeof makeDispatch>,
  providers: Providers["Service"]
): RowKind<SearchRequest, DispatchedSearch, RowBody> => ({
  route: "bulk",
  spanName: "Bulk.run",
  idPrefix: "qry_",
  maxRunning,
  targetOf: ({ target }) => target,
  check: (rows) => rejectUnserved(providers, rows),
  run: (principal, request, attempts, batch) => dispatch({ principal, request, attempts, batch }),
  unsent: ({ answer }) => unsentFailure(Result.isFailure(answer) ? answer.failure : undefined),
  keyOf: cacheKey,
  shared: ({ answer }) =>
    Result.isFailure(answer)
      ? undefined
      : { answer: Result.succeed({ ...answer.success, cached: true }), durationMs: 0, refusals: [] },
  late: (durationMs, within, attempts, refusals) => {
    if (attempts.sentAt === undefined) return undefined
    const error = new UpstreamTimeout({
      message: `The search provider did not answer before the batch's ${within} ended.`
    })
    return { answer: Result.fail(error), durationMs, refusals }
  },
  toEntry: toLogEntry,
  toBody: ({ id }, request, { answer }) =>
    Result.match(answer, {
      onSuccess: ({ ranking }): RowBody => ({ status: "ok", ...toBody(id, request, ranking) }),
      onFailure: errorRow
    }),
  errorRow,
  keep: keepBatch,
  restore: restoreBatch,
  count: (entry) => countSearch("row", entry),
  // Not dispatched, so that there is no duration; the target may be invalid.
  countFailed: (error) => Metric.update(searchDuration.of("row", "none", error, "false"), 0),
  describe: describeSearch
})

/** Rows that no provider can serve are not charged. */
const rejectUnserved = (providers: Providers["Service"], rows: AskedRows<SearchRequest>) =>
  Effect.forEach(rows, (row): Effect.Effect<AskedRows<SearchRequest>[number]> => {
    if (Result.isFailure(row)) return Effect.succeed(row)
    return Effect.match(providers.check(row.success), {
      onSuccess: (error) => (error === undefined ? row : Result.fail(error)),
      onFailure: Result.fail
    })
  })
