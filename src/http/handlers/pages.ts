import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type PageRequest, toPageRequest } from "../../domain/pages/PageRequest.ts"
import { type PageRowBody, parsePages } from "../../domain/pages/PagesRequest.ts"
import type { Timing } from "../../domain/requests/CurrentRequest.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import type { BatchLineBody } from "../../domain/search/BulkResult.ts"
import { PageBatches } from "../../services/pages/PageBatches.ts"
import { type PageSettlement, Pages } from "../../services/pages/Pages.ts"
import { Api } from "../Api.ts"
import { builtWith } from "../builtWith.ts"
import { currentAccountPrincipal, Gates, RequestDecoding } from "../Gates.ts"
import { idempotencyKey } from "../requests/idempotencyKey.ts"
import { receiptOf, withQuotaHeaders } from "../responses/quota.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"
import { SendsServerTiming } from "../responses/serverTiming.ts"
import { type BatchForm, batch } from "./batches.ts"

const pageTiming = ({ entry }: PageSettlement): Timing => {
  if (entry === undefined) return { part: undefined, cache: undefined }
  if (entry.cached) return { part: undefined, cache: "hit" }
  return { part: { name: "fetch", by: undefined, ms: entry.durationMs }, cache: "miss" }
}

const encodeLine = (line: BatchLineBody<PageRowBody>): string => {
  if (line.type !== "row") return JSON.stringify(line)
  const { body, index, type } = line
  return JSON.stringify({ type, index, ...body })
}

const pagesForm: BatchForm<PageRequest, PageRowBody> = {
  parse: parsePages,
  encodeBody: (body) => [JSON.stringify(body)],
  encodeLine
}

export const layer = HttpApiBuilder.group(
  Api,
  "pages",
  Effect.fn(function* (handlers) {
    const pages = yield* Pages
    const isTimed = yield* SendsServerTiming
    const runBatch = batch(yield* PageBatches, pagesForm)

    return (
      handlers
        .handle(
          "page",
          Effect.fnUntraced(function* ({ query }) {
            const principal = yield* currentAccountPrincipal
            const keyed = yield* idempotencyKey
            const asked = toPageRequest(query)
            const settlement = yield* withQuotaHeaders(
              keyed === undefined
                ? pages.run(principal, asked)
                : withRetryAfter(pages.runKeyed(keyed.principal, asked, keyed.key)),
              receiptOf
            )
            if (isTimed) (yield* CurrentRequest).timing = pageTiming(settlement)
            return HttpServerResponse.jsonUnsafe(yield* withRetryAfter(Effect.fromResult(settlement.body)))
          })
        )
        // Raw, because an invalid row of the declared body is an error of that row alone (R16).
        .handleRaw("pages", ({ request }) => runBatch(request))
    )
  })
).pipe(builtWith(Pages, PageBatches, SendsServerTiming, Gates, RequestDecoding))
