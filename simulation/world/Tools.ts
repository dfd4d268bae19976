import { Effect } from "effect"
import { ask, judgeResult, type Result } from "../customers/Habits.ts"
import type { Person } from "../customers/Person.ts"
import { isUnsent } from "../Model.ts"

interface ToolAnswer {
  readonly result?: {
    readonly isError?: boolean
    readonly structuredContent?: Result
    readonly _meta?: { readonly "quarry/error"?: { readonly error: string } }
  }
}

const failureOf = ({ result }: ToolAnswer): string | undefined =>
  result?.isError === true ? (result._meta?.["quarry/error"]?.error ?? "") : undefined

/** A search by an agent. Its cost follows from its outcome, because a tool call has no cost header. */
export const agentSearch = Effect.fnUntraced(function* (me: Person) {
  const { auditor, chance, kind } = me
  const asked = ask(me)
  const ended = yield* me.call({
    method: "POST",
    path: "/mcp",
    headers: { accept: "application/json, text/event-stream" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "web_search", arguments: asked } },
    credits: 1,
    leavesAfterMs: chance.isTrue(0.05) ? chance.between(1, 600) : undefined
  })
  if (ended?.outcome._tag !== "answered") return
  const { reply } = ended.outcome
  const { id } = ended.request
  if (reply.status !== 200) return auditor.answered(ended.request, reply, 0)
  const answer: ToolAnswer = JSON.parse(reply.text)
  const failure = failureOf(answer)
  // As with a 500, it is unknown if the charge succeeded. The response itself is a 200, with the headers of one.
  if (failure === "internal_error") return auditor.answered(ended.request, { ...reply, status: 500, headers: {} }, 0)
  const isKnown = failure === undefined || failures.has(failure)
  auditor.hold("I4 the end of a tool", isKnown, () => `${id} of ${kind} is ${failure}: ${reply.text}`)
  if (answer.result?.structuredContent !== undefined) judgeResult(me, id, asked, answer.result.structuredContent)
  const isSent = failure?.startsWith("upstream_") && !isUnsent(reply.text)
  const cost = failure === undefined || isSent ? 1 : 0
  auditor.answered(ended.request, reply, cost)
})

const failures = new Set(["upstream_error", "upstream_timeout", "quota_exceeded", "unsupported_parameter"])
