import { Effect, Result } from "effect"
import { type Capabilities, planCalls, type UpstreamCall } from "../../domain/Capabilities.ts"
import type { UpstreamRow } from "../../domain/Organic.ts"
import type { Refusal } from "../../domain/Refusal.ts"
import { defaultQueueMs, type Provider } from "../../services/Provider.ts"
import { withSpan } from "../../services/Tracing.ts"

/** Pages of one search asked for at once, besides the first. */
const maxConcurrentPages = 4

/**
 * A provider from one call of its upstream. The pages that the rows lie on are fetched side by side (R13). The first
 * must succeed. A later one that fails ends the rows before it, as if the upstream had no more: what was found is an
 * answer, and fewer is no error.
 */
export const make = (
  name: string,
  capabilities: Capabilities,
  fetchPage: (call: UpstreamCall, maxQueueMs: number) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
): Provider => {
  /** One of several calls of an attempt, each with a span of its own: they differ in time and end. */
  const fetchOneOf = (call: UpstreamCall, maxQueueMs: number) =>
    withSpan("Provider.page", { kind: "client", attributes: { "quarry.page": call.page } }, () =>
      fetchPage(call, maxQueueMs)
    )

  /** The rows of the pages after the first, up to one that fails. */
  const fetchFollowing = Effect.fnUntraced(function* (calls: ReadonlyArray<UpstreamCall>, maxQueueMs: number) {
    const answers = yield* Effect.forEach(calls, (call) => Effect.result(fetchOneOf(call, maxQueueMs)), {
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

  return {
    name,
    capabilities,
    search: (request, maxQueueMs = defaultQueueMs) => {
      const { first, following, skip } = planCalls(capabilities, request)
      if (following.length === 0) return Effect.map(fetchPage(first, maxQueueMs), (rows) => rows.slice(skip))
      return Effect.map(
        Effect.all([fetchOneOf(first, maxQueueMs), fetchFollowing(following, maxQueueMs)], { concurrency: 2 }),
        ([rows, more]) => [...rows.slice(skip), ...more]
      )
    }
  }
}
