import { Context, Effect, Layer, Metric, Result } from "effect"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import { PageUnreadable } from "../../domain/errors.ts"
import { toPageResult } from "../../domain/pages/PageBody.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import type { PageRowBody } from "../../domain/pages/PagesRequest.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import type { RowFailure, RowKind } from "../search/Batch.ts"
import { type Batches, makeBatches } from "../search/Batches.ts"
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
    Effect.gen(function* () {
      return yield* makeBatches(makeKind(yield* PageReader))
    })
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

const makeKind = (reader: PageReader["Service"]): RowKind<PageRequest, PageReading, PageRowBody> => ({
  route: "pages",
  spanName: "PageBatches.run",
  idPrefix: "pag_",
  maxRunning,
  targetOf: () => pageTarget,
  check: Effect.succeed,
  run: (principal, request) => reader.read(payer(principal), request),
  keyOf: ({ url }) => url,
  shared: (reading) => (Result.isSuccess(reading.copy) ? { ...reading, cached: true, durationMs: 0 } : undefined),
  unsent: unsentReading,
  late: (durationMs) => ({ copy: Result.fail(PageUnreadable.because("timed_out")), cached: false, durationMs }),
  toEntry: toPageEntry,
  toBody: ({ id }, request, { copy }, { links }) =>
    Result.match(copy, {
      onSuccess: (copy): PageRowBody => ({ status: "ok", ...toPageResult(id, request, copy, links) }),
      onFailure: errorRow
    }),
  errorRow,
  keep: JSON.stringify,
  restore: JSON.parse,
  count: (entry) => countPage("row", entry),
  countFailed: (error) => Metric.update(pageDuration.of("row", error, "false"), 0),
  describe: (span, { url }, withText) => describePage(span, url, withText)
})
