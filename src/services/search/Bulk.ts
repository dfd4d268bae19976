import { Context, Effect, Layer, Metric, Result } from "effect"
import type { Principal } from "../../domain/accounts/Principal.ts"
import type { RowBody } from "../../domain/search/BulkResult.ts"
import { keepBatch, restoreBatch } from "../../domain/search/KeptAnswer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { type AskedRows, type Outcome, type RowFailure, shareAnswer, type Task } from "../charging/Batch.ts"
import { type Batches, makeBatches } from "../charging/Batches.ts"
import { admitTarget } from "../charging/Charge.ts"
import { keyedRequest } from "../charging/Idempotency.ts"
import { Attempts } from "../providers/Attempts.ts"
import { Limits } from "../providers/Limits.ts"
import { Providers } from "../providers/Providers.ts"
import { searchDuration } from "../telemetry/Metrics.ts"
import { describeSearch } from "../telemetry/Tracing.ts"
import { Answers } from "./Answers.ts"
import {
  countSearch,
  cutOffSearch,
  type DispatchedSearch,
  makeDispatch,
  toBody,
  toLogEntry,
  unsentSearch
} from "./DispatchedSearch.ts"
import { cacheKey } from "./ResultCache.ts"

/**
 * Limits concurrent searches of non-streamed batches in this process (R20). Each takes about 40 kB, and
 * with many thousands, most would not finish in time.
 */
const maxRunning = 512

export class Bulk extends Context.Service<Bulk, Batches<SearchRequest, RowBody>>()("quarry/services/search/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.suspend(() => make)
  ).pipe(Layer.provide(Answers.layer))
}

// The cast: searches do not fail with errors of pages.
const errorRow = (error: RowFailure): RowBody =>
  ({ status: "error", error: error._tag, message: error.message }) as RowBody

/** A row is free if no provider was asked (R76). */
const outcomeOf = (
  principal: Principal,
  request: SearchRequest,
  end: DispatchedSearch
): Result.Result<Outcome<RowBody>, RowBody> => {
  const unsent = unsentSearch(end)
  if (unsent !== undefined) return Result.fail(errorRow(unsent))
  return Result.succeed({
    entry: (place) => toLogEntry(principal, request, place, end),
    body: (id) =>
      Result.match(end.answer, {
        onSuccess: ({ ranking }): RowBody => ({ status: "ok", ...toBody(id, request, ranking) }),
        onFailure: errorRow
      })
  })
}

const toShared = ({ answer }: DispatchedSearch): DispatchedSearch | undefined =>
  Result.isFailure(answer)
    ? undefined
    : { answer: Result.succeed({ ...answer.success, cached: true }), durationMs: 0, refusals: [] }

/** Answers that identical rows of a batch share, by `cacheKey`. */
type SharedAnswers = Map<string, DispatchedSearch>

const make = Effect.gen(function* () {
  const dispatch = yield* makeDispatch
  const providers = yield* Providers
  const { bulkBudget } = yield* Limits
  const batches = yield* makeBatches({
    spanName: "Bulk.run",
    idPrefix: "qry_",
    maxRunning,
    errorRow,
    keep: keepBatch,
    restore: restoreBatch,
    count: (entry) => countSearch("row", entry),
    // A rejected row was not dispatched and has no duration. Its target may be invalid.
    countFailed: (error) => Metric.update(searchDuration.of("row", "none", error, "false"), 0)
  })

  const taskOf = (principal: Principal, request: SearchRequest, shared: SharedAnswers): Task<RowBody> => {
    const attempts = new Attempts()
    return {
      describe: (span, withText) => describeSearch(span, request, withText),
      run: (batchEnd) => {
        const run = dispatch({ principal, request, attempts, batchEnd })
        return Effect.flatMap(shareAnswer(shared, cacheKey(request), run, toShared), (end) =>
          Effect.fromResult(outcomeOf(principal, request, end))
        )
      },
      cutOff: (startedAt, now) => outcomeOf(principal, request, cutOffSearch(attempts, bulkBudget, startedAt, now))
    }
  }

  /** Rows whose target the key may not use, or that no provider can serve, are not charged. */
  const rowOf = Effect.fnUntraced(function* (
    principal: Principal,
    asked: AskedRows<SearchRequest>[number],
    shared: SharedAnswers
  ) {
    const request = yield* Effect.fromResult(asked)
    yield* admitTarget(principal, request.target)
    const unserved = yield* providers.check(request)
    return unserved === undefined ? taskOf(principal, request, shared) : yield* unserved
  })

  const rowsOf = (principal: Principal, asked: AskedRows<SearchRequest>) => {
    const shared: SharedAnswers = new Map()
    return Effect.forEach(asked, (row) => Effect.result(Effect.mapError(rowOf(principal, row, shared), errorRow)))
  }

  return Bulk.of({
    run: (principal, asked) => Effect.flatMap(rowsOf(principal, asked), (rows) => batches.run(principal, rows)),
    runKeyed: (principal, asked, key) =>
      Effect.flatMap(rowsOf(principal, asked), (rows) =>
        batches.runKeyed(principal, rows, keyedRequest("bulk", key, asked))
      ),
    stream: (principal, asked) => Effect.flatMap(rowsOf(principal, asked), (rows) => batches.stream(principal, rows))
  })
})
