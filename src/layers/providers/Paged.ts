import { Clock, Effect, Result } from "effect"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import { type CallPlan, type Capabilities, planCalls, type UpstreamCall } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import { defaultTurn, type Provider } from "../../services/providers/Provider.ts"
import type { CallLimits, Turn } from "../../services/providers/Turn.ts"
import { withSpan } from "../../services/telemetry/Tracing.ts"

const maxConcurrentPages = 4

/** The first page must succeed. If a later page fails, the result has the rows before it (R13). */
export const make = (
  name: string,
  capabilities: Capabilities,
  limits: CallLimits,
  fetchPage: (call: UpstreamCall, turn: Turn) => Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal>
): Provider => {
  const fetchWithSpan = (call: UpstreamCall, turn: Turn) =>
    withSpan("Provider.page", { kind: "client", attributes: { "quarry.page": call.page } }, () => fetchPage(call, turn))

  const fetchFollowing = Effect.fnUntraced(function* (calls: ReadonlyArray<UpstreamCall>, turn: Turn) {
    const answers = yield* Effect.forEach(calls, (call) => Effect.result(fetchWithSpan(call, turn)), {
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

  const run = ({ first, following, skip }: CallPlan, turn: Turn) => {
    if (following.length === 0) return Effect.map(fetchPage(first, turn), (rows) => rows.slice(skip))
    return Effect.map(
      Effect.all([fetchWithSpan(first, turn), fetchFollowing(following, turn)], { concurrency: 2 }),
      ([rows, more]) => [...rows.slice(skip), ...more]
    )
  }

  return {
    name,
    capabilities,
    limits,
    search: (request, turn = defaultTurn) =>
      request.options === undefined
        ? run(planCalls(capabilities, request), turn)
        : Effect.flatMap(Clock.currentTimeMillis, (now) => run(planCalls(capabilities, request, now), turn))
  }
}
