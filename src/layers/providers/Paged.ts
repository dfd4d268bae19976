import { Clock, Effect, Result } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import { type CallPlan, type Capabilities, planCalls, type UpstreamCall } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import { defaultQueueMs, type Provider } from "../../services/providers/Provider.ts"
import { withSpan } from "../../services/telemetry/Tracing.ts"

const maxConcurrentPages = 4

/** The first page must succeed. If a later page fails, the result has the rows before it (R13). */
export const make = (
  name: string,
  capabilities: Capabilities,
  fetchPage: (call: UpstreamCall, maxQueueMs: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
): Provider => {
  const fetchWithSpan = (call: UpstreamCall, maxQueueMs: number) =>
    withSpan("Provider.page", { kind: "client", attributes: { "quarry.page": call.page } }, () =>
      fetchPage(call, maxQueueMs)
    )

  const fetchFollowing = Effect.fnUntraced(function* (calls: ReadonlyArray<UpstreamCall>, maxQueueMs: number) {
    const answers = yield* Effect.forEach(calls, (call) => Effect.result(fetchWithSpan(call, maxQueueMs)), {
      concurrency: maxConcurrentPages
    })
    const rows: Array<UpstreamRow> = []
    for (const [index, answer] of answers.entries()) {
      if (Result.isFailure(answer)) {
        const { message, reason } = answer.failure
        yield* Effect.logWarning(`Provider ${name} refused page ${calls[index]?.page}: ${reason} (${message})`)
        break
      }
      for (const row of answer.success) rows.push(row)
    }
    return rows
  })

  const run = ({ first, following, skip }: CallPlan, maxQueueMs: number) => {
    if (following.length === 0) return Effect.map(fetchPage(first, maxQueueMs), (rows) => rows.slice(skip))
    return Effect.map(
      Effect.all([fetchWithSpan(first, maxQueueMs), fetchFollowing(following, maxQueueMs)], { concurrency: 2 }),
      ([rows, more]) => [...rows.slice(skip), ...more]
    )
  }

  return {
    name,
    capabilities,
    search: (request, maxQueueMs = defaultQueueMs) =>
      request.options === undefined
        ? run(planCalls(capabilities, request), maxQueueMs)
        : Effect.flatMap(Clock.currentTimeMillis, (now) => run(planCalls(capabilities, request, now), maxQueueMs))
  }
}
