import { Effect, Result } from "effect"
import { type Capabilities, planCalls, type UpstreamCall } from "../../domain/Capabilities.ts"
import type { UpstreamRow } from "../../domain/Organic.ts"
import { type Provider, Refusal } from "../../services/Provider.ts"
import { spanned } from "../../services/Tracing.ts"

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
  fetchPage: (call: UpstreamCall) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
): Provider => {
  /** One of several calls of an attempt, each with a span of its own: they differ in time and end. */
  const fetchOneOf = (call: UpstreamCall) =>
    spanned("Provider.page", { kind: "client", attributes: { "quarry.page": call.page } }, () => fetchPage(call))

  /** The rows of the pages after the first, up to one that fails. */
  const fetchFollowing = Effect.fnUntraced(function* (calls: ReadonlyArray<UpstreamCall>) {
    const answers = yield* Effect.forEach(calls, (call) => Effect.result(fetchOneOf(call)), {
      concurrency: maxConcurrentPages
    })
    const rows: Array<UpstreamRow> = []
    for (const [index, answer] of answers.entries()) {
      if (Result.isFailure(answer)) {
        const { message, reason } = answer.failure
        yield* Effect.logWarning(`Provider ${name} refused page ${calls[index]?.page}: ${reason} (${message})`)
        break
      }
      rows.push(...answer.success)
    }
    return rows
  })

  return {
    name,
    capabilities,
    search: Effect.fnUntraced(function* (request) {
      const plan = planCalls(capabilities, request)
      if (Result.isFailure(plan)) return yield* new Refusal({ reason: "unserved", message: plan.failure })
      const { first, following, skip } = plan.success
      if (following.length === 0) return (yield* fetchPage(first)).slice(skip)
      const [rows, more] = yield* Effect.all([fetchOneOf(first), fetchFollowing(following)], { concurrency: 2 })
      return [...rows.slice(skip), ...more]
    })
  }
}
