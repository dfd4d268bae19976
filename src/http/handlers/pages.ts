import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type PageRequest, parsePageParameters } from "../../domain/pages/PageRequest.ts"
import { type PageRowBody, parsePages } from "../../domain/pages/PagesRequest.ts"
import type { BatchLineBody } from "../../domain/search/BulkResult.ts"
import { PageBatches } from "../../services/pages/PageBatches.ts"
import { PageSettings } from "../../services/pages/PageSettings.ts"
import { type PageSettlement, Pages } from "../../services/pages/Pages.ts"
import { CurrentRequest, type Timing } from "../CurrentRequest.ts"
import { currentAccountPrincipal } from "../Gates.ts"
import { PagesGroup } from "../groups/PagesGroup.ts"
import { withKey } from "../requests/idempotencyKey.ts"
import { withQuotaHeaders } from "../responses/quota.ts"
import { withRetryAfter } from "../responses/retryAfter.ts"
import { SendsServerTiming } from "../responses/serverTiming.ts"
import { makeGatedRoute } from "../routes.ts"
import { type BatchForm, batch } from "./batches.ts"

const pageTiming = ({ entry }: PageSettlement): Timing => {
  if (entry === undefined) return { part: undefined, cache: undefined }
  if (entry.cached) return { part: undefined, cache: "hit" }
  return { part: { name: "fetch", by: undefined, ms: entry.durationMs }, cache: "miss" }
}

const page = (pages: Pages["Service"], isTimed: boolean) =>
  Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const state = yield* CurrentRequest
    const principal = yield* currentAccountPrincipal
    const decoded = parsePageParameters(yield* HttpServerRequest.ParsedSearchParams)
    const [asked, keyed] = yield* Effect.fromResult(withKey(request, principal, decoded))
    const settlement = yield* withQuotaHeaders(
      state,
      keyed === undefined
        ? pages.run(principal, asked)
        : withRetryAfter(pages.runKeyed(keyed.principal, asked, keyed.key))
    )
    if (isTimed) state.timing = pageTiming(settlement)
    return HttpServerResponse.jsonUnsafe(yield* withRetryAfter(Effect.fromResult(settlement.body)))
  })

const encodeLine = (line: BatchLineBody<PageRowBody>): string => {
  if (line.type !== "row") return JSON.stringify(line)
  const { body, index, type } = line
  return JSON.stringify({ type, index, ...body })
}

const pagesForm: BatchForm<PageRequest, PageRowBody> = {
  parse: parsePages,
  encodeBody: (body) => Buffer.from(JSON.stringify(body)),
  encodeLines: (lines) => Buffer.from(lines.map((line) => `${encodeLine(line)}\n`).join(""))
}

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    if (!(yield* PageSettings).isOn) return
    const gatedRoute = yield* makeGatedRoute
    const { endpoints } = PagesGroup
    const routes = {
      page: gatedRoute(endpoints.page, page(yield* Pages, yield* SendsServerTiming)),
      pages: gatedRoute(endpoints.pages, batch(yield* PageBatches, pagesForm))
    } satisfies Record<keyof typeof endpoints, unknown>
    yield* router.addAll(Object.values(routes))
  })
)
