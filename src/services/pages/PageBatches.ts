import { Context, Effect, Layer, Metric, Result } from "effect"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import { PageUnreadable } from "../../domain/errors.ts"
import { toPageResult } from "../../domain/pages/PageBody.ts"
import { LinkBudget } from "../../domain/pages/PageLinks.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import type { PageRowBody } from "../../domain/pages/PagesRequest.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { type AskedRows, type Outcome, type RowFailure, shareAnswer, type Task } from "../charging/Batch.ts"
import { type Batches, makeBatches } from "../charging/Batches.ts"
import { admitTarget } from "../charging/Charge.ts"
import { keyedRequest } from "../charging/Idempotency.ts"
import { pageDuration } from "../telemetry/Metrics.ts"
import { describePage } from "../telemetry/Tracing.ts"
import { countPage, PageReader, type PageReading, toPageEntry, unsentReading } from "./PageReader.ts"

/** Limits concurrent pages of non-streamed batches in this process, because each may have 5 MiB. */
const maxRunning = 64

export class PageBatches extends Context.Service<PageBatches, Batches<PageRequest, PageRowBody>>()(
  "quarry/services/pages/PageBatches"
) {
  static readonly layer = Layer.effect(
    PageBatches,
    Effect.suspend(() => make)
  )
}

const errorRow = (error: RowFailure): PageRowBody => ({
  status: "error",
  // The cast: requests for pages have no country.
  error: error._tag as Exclude<RowFailure["_tag"], "unsupported_geo">,
  message: error.message,
  ...(error._tag === "page_unreadable" ? { reason: error.reason } : {}),
  ...(error._tag === "page_unreadable" && error.httpStatus !== undefined ? { http_status: error.httpStatus } : {})
})

/** The cast: the route only admits principals with an account (R58). */
const payer = (principal: Principal): AccountPrincipal => principal as AccountPrincipal

const outcomeOf = (
  principal: Principal,
  request: PageRequest,
  links: LinkBudget,
  reading: PageReading
): Outcome<PageRowBody> => ({
  entry: (place) => toPageEntry(principal, request, place, reading),
  body: (id) =>
    Result.match(reading.copy, {
      onSuccess: (copy): PageRowBody => ({ status: "ok", ...toPageResult(id, request, copy, links) }),
      onFailure: errorRow
    })
})

const toShared = (reading: PageReading): PageReading | undefined =>
  Result.isSuccess(reading.copy) ? { ...reading, cached: true, durationMs: 0 } : undefined

/** Shared by the rows of a batch. */
interface Shared {
  readonly readings: Map<string, PageReading>
  /** For the whole response. */
  readonly links: LinkBudget
}

const make = Effect.gen(function* () {
  const reader = yield* PageReader
  const batches = yield* makeBatches({
    spanName: "PageBatches.run",
    idPrefix: "pag_",
    maxRunning,
    errorRow,
    keep: JSON.stringify,
    restore: JSON.parse,
    count: (entry) => countPage("row", entry),
    countFailed: (error) => Metric.update(pageDuration.of("row", error, "false"), 0)
  })

  const taskOf = (principal: Principal, request: PageRequest, { links, readings }: Shared): Task<PageRowBody> => ({
    describe: (span, withText) => describePage(span, request.url, withText),
    run: () => {
      const read = shareAnswer(readings, request.url, reader.read(payer(principal), request), toShared)
      return Effect.flatMap(read, (reading) => {
        const unsent = unsentReading(reading)
        return unsent === undefined
          ? Effect.succeed(outcomeOf(principal, request, links, reading))
          : Effect.fail(errorRow(unsent))
      })
    },
    cutOff: (startedAt, now) => {
      const copy = Result.fail(PageUnreadable.because("timed_out"))
      return Result.succeed(outcomeOf(principal, request, links, { copy, cached: false, durationMs: now - startedAt }))
    }
  })

  const rowsOf = (principal: Principal, asked: AskedRows<PageRequest>) => {
    const shared: Shared = { readings: new Map(), links: new LinkBudget() }
    const rowOf = (row: AskedRows<PageRequest>[number]) =>
      Effect.flatMap(Effect.fromResult(row), (request) =>
        Effect.as(admitTarget(principal, pageTarget), taskOf(principal, request, shared))
      )
    return Effect.forEach(asked, (row) => Effect.result(Effect.mapError(rowOf(row), errorRow)))
  }

  return PageBatches.of({
    run: (principal, asked) => Effect.flatMap(rowsOf(principal, asked), (rows) => batches.run(principal, rows)),
    runKeyed: (principal, asked, key) =>
      Effect.flatMap(rowsOf(principal, asked), (rows) =>
        batches.runKeyed(principal, rows, keyedRequest("pages", key, asked))
      ),
    stream: (principal, asked) => Effect.flatMap(rowsOf(principal, asked), (rows) => batches.stream(principal, rows))
  })
})
