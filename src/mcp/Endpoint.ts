import { Effect, Layer, Metric, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../http/Api.ts"
import { currentAccountPrincipal } from "../http/Gates.ts"
import { readText } from "../http/requests/body.ts"
import { Deployment } from "../services/operations/Deployment.ts"
import { mcpMessages, toolCalls } from "../services/telemetry/Metrics.ts"
import { answerCurrent } from "./current.ts"
import { answerEarlier } from "./earlier.ts"
import { methodNotAllowed, noSuchTools, originNotAllowed, parseBody, toErrorResponse } from "./message.ts"
import { revisions } from "./revisions.ts"
import { missingScope } from "./scopes.ts"
import { isStateless, readStateless } from "./stateless.ts"
import { makeToolboxes, type Toolboxes } from "./Toolbox.ts"

const notAllowed = HttpServerResponse.setHeader(toErrorResponse(methodNotAllowed), "allow", "POST")

export const otherMethods = Layer.mergeAll(
  HttpRouter.add("GET", "/mcp", notAllowed),
  HttpRouter.add("DELETE", "/mcp", notAllowed)
)

/** Errors use the API's envelope until the body is read, and JSON-RPC afterwards. */
const post = ({ corsOrigins, origin }: typeof Deployment.Service, toolboxes: Toolboxes) => {
  const origins = new Set([origin, ...corsOrigins])
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const { headers, url } = request
    if (headers.origin !== undefined && !origins.has(headers.origin)) return toErrorResponse(originNotAllowed)
    const principal = yield* currentAccountPrincipal
    const parsed = parseBody(yield* readText(request))
    if (Result.isFailure(parsed)) return toErrorResponse(parsed.failure)
    const body = parsed.success
    const { tools } = yield* HttpServerRequest.ParsedSearchParams
    const toolbox = toolboxes.select(typeof tools === "string" ? tools : tools?.join())
    if (toolbox === undefined) return toErrorResponse(noSuchTools(toolboxes.names))
    const stepUp = missingScope(body, toolbox, principal, { origin, url })
    if (stepUp !== undefined) return stepUp
    if (!isStateless(headers, body)) {
      return yield* answerEarlier(body, headers["mcp-protocol-version"], toolbox, principal, headers.accept)
    }
    const asked = readStateless(headers, body)
    if (Result.isFailure(asked)) return toErrorResponse(asked.failure)
    if (asked.success === undefined) return HttpServerResponse.empty({ status: 202 })
    return yield* answerCurrent(asked.success, toolbox, principal, headers.accept)
  })
}

/** Raw, because errors of the body are JSON-RPC's. */
export const layer = HttpApiBuilder.group(
  Api,
  "mcp",
  Effect.fn(function* (handlers) {
    const deployment = yield* Deployment
    const toolboxes = yield* makeToolboxes
    // An alert divides by these counters, and Prometheus would miss the first increase of a new series.
    for (const name of toolboxes.names) yield* Metric.update(toolCalls.of(name, "ok"), 0)
    for (const revision of revisions) yield* Metric.update(mcpMessages.of("tools/call", revision), 0)
    const answer = post(deployment, toolboxes)
    return handlers.handleRaw("mcp", ({ request }) => answer(request))
  })
)
