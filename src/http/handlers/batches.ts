import { Deferred, Effect, Option, type Result, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Principal } from "../../domain/accounts/Principal.ts"
import type { InvalidRequest } from "../../domain/errors.ts"
import type { RequestState } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import type { BatchBody, BatchLineBody } from "../../domain/search/BulkResult.ts"
import type { AnyRowBody, AskedRows } from "../../services/charging/Batch.ts"
import type { Batches } from "../../services/charging/Batches.ts"
import { CurrentPrincipal } from "../Gates.ts"
import { addLogFields } from "../requestState.ts"
import { jsonLines, wantsLines } from "../requests/accept.ts"
import { readJson } from "../requests/body.ts"
import { idempotencyKey, withKeyIssue } from "../requests/idempotencyKey.ts"
import { receiptOf, withQuotaHeaders } from "../responses/quota.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"

export interface BatchForm<Q, B> {
  readonly parse: (body: unknown) => Result.Result<AskedRows<Q>, InvalidRequest>
  readonly encodeBody: (body: BatchBody<B>) => ReadonlyArray<string>
  /** Without the line break. */
  readonly encodeLine: (line: BatchLineBody<B>) => string
}

export const batch = <Q, B extends AnyRowBody>(batches: Batches<Q, B>, form: BatchForm<Q, B>) =>
  Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const state = yield* CurrentRequest
    const principal = yield* CurrentPrincipal
    const rows = yield* Effect.catch(Effect.fromResult(form.parse(yield* readJson(request))), (failure) =>
      Effect.flatMap(withKeyIssue(failure), Effect.fail)
    )
    const keyed = yield* idempotencyKey
    const inLines = wantsLines(request.headers.accept)
    if (inLines && keyed === undefined) {
      return yield* streamed(state, batches, form, principal, rows)
    }
    const settlement = yield* withQuotaHeaders(
      keyed === undefined
        ? batches.run(principal, rows)
        : withRetryAfter(batches.runKeyed(keyed.principal, rows, keyed.key)),
      receiptOf
    )
    return inLines
      ? wholeLinesResponse(form, settlement.body, settlement.receipt.creditsUsed)
      : HttpServerResponse.uint8Array(bytesOf(form.encodeBody(settlement.body)), { contentType: "application/json" })
  })

/** Common proxies close connections that are idle for a minute. */
const heartbeatInterval = "10 seconds"

const heartbeat = "\n"

/** Stops compression and proxies from buffering lines. */
const lineHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" }

const bytesOf = (pieces: ReadonlyArray<string>) => Buffer.concat(pieces.map((piece) => Buffer.from(piece)))

const linesOf = <Q, B>({ encodeLine }: BatchForm<Q, B>, lines: ReadonlyArray<BatchLineBody<B>>): string =>
  lines.map((line) => `${encodeLine(line)}\n`).join("")

const streamed = Effect.fnUntraced(function* <Q, B extends AnyRowBody>(
  state: RequestState,
  batches: Batches<Q, B>,
  form: BatchForm<Q, B>,
  principal: Principal,
  rows: AskedRows<Q>
) {
  let isWhole = false
  const closed = yield* Deferred.make<void>()
  yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
  const started = yield* withQuotaHeaders(batches.stream(principal, rows), ({ before }) => ({ before }))
  state.work.push(
    Effect.map(Deferred.await(closed), () => {
      if (!isWhole) addLogFields(state, { outcome: "cut" })
    })
  )
  const next = Effect.timeoutOption(started.take, heartbeatInterval)
  const lines = Stream.unfold(false, (isLast) => {
    isWhole = isLast
    if (isLast) return Effect.undefined
    return Effect.flatMap(next, (some) => {
      if (Option.isNone(some)) return Effect.succeed([heartbeat, false] as const)
      // Breaks the connection, so that the client does not take this for a complete batch.
      if (some.value.length === 0) return Effect.die(new Error("the batch ended without its summary"))
      return Effect.succeed([linesOf(form, some.value), some.value.at(-1)?.type === "summary"] as const)
    })
  })
  return HttpServerResponse.stream(Stream.encodeText(lines), { contentType: jsonLines, headers: lineHeaders })
})

/** A keyed batch is charged together with its stored response, so its lines are sent together, in row order (R44). */
const wholeLinesResponse = <Q, B>(form: BatchForm<Q, B>, { results, ...counts }: BatchBody<B>, creditsUsed: number) => {
  const lines = linesOf(form, [
    { type: "batch", batch_id: counts.batch_id, total: counts.total },
    ...results.map((body, index) => ({ type: "row" as const, index, body })),
    { type: "summary", ...counts, credits_used: creditsUsed }
  ])
  return HttpServerResponse.text(lines, { contentType: jsonLines, headers: lineHeaders })
}
