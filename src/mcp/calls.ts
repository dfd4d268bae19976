import { Cause, Effect, Metric, Queue, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AccountPrincipal } from "../domain/accounts/Principal.ts"
import { type InternalError, internalError } from "../domain/errors.ts"
import type { RawFields } from "../domain/requests/fields.ts"
import { logFault } from "../http/responses/logFault.ts"
import { toolCalls } from "../services/telemetry/Metrics.ts"
import { describeEnd, sampledSpan } from "../services/telemetry/Tracing.ts"
import { acceptsEvents, wantsEvents } from "./accept.ts"
import { event, eventsResponse, progressEvent } from "./events.ts"
import { type Envelope, toErrorAnswer } from "./failure.ts"
import type { Progress, Tool, ToolAnswer, ToolFailure } from "./Tool.ts"
import { type MessageFacts, traced } from "./trace.ts"

export type CallEnd = ToolAnswer | { readonly envelope: Envelope; readonly text: string }

const recordEnd = (tool: Tool, outcome: string): Effect.Effect<void> =>
  Effect.flatMap(sampledSpan, (span) => {
    if (span !== undefined) {
      span.attribute("quarry.tool", tool.name)
      describeEnd(span, outcome)
    }
    return Metric.update(toolCalls.of(tool.name, outcome), 1)
  })

const failWith = (tool: Tool, error: ToolFailure | InternalError): Effect.Effect<CallEnd> =>
  Effect.andThen(recordEnd(tool, error._tag), toErrorAnswer(error))

/** Returns failures as answers, because clients do not show JSON-RPC errors to models. */
export const callTool = (
  tool: Tool,
  principal: AccountPrincipal,
  args: RawFields,
  progress?: Progress
): Effect.Effect<CallEnd> =>
  tool.call(principal, args, progress).pipe(
    Effect.tap(recordEnd(tool, "ok")),
    Effect.catch((error) => failWith(tool, error)),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(logFault(cause), failWith(tool, internalError))
    )
  )

export const resultOf = (end: CallEnd) => {
  const content = [{ type: "text" as const, text: end.text }]
  return "envelope" in end
    ? { _meta: { "quarry/error": end.envelope }, content, isError: true }
    : { content, structuredContent: JSON.parse(end.structured) }
}

/** Copies content that is already encoded. `meta` and `extra` are what one revision of the protocol adds. */
const writeResponse = (end: CallEnd, id: string | number, meta: object, extra: string): string => {
  const isError = "envelope" in end
  const allMeta = isError ? { "quarry/error": end.envelope, ...meta } : meta
  const metaText = Object.keys(allMeta).length === 0 ? "" : `"_meta":${JSON.stringify(allMeta)},`
  const content = `"content":[{"type":"text","text":${JSON.stringify(end.text)}}]`
  const outcome = isError ? `"isError":true` : `"structuredContent":${end.structured}`
  return `{"result":{${metaText}${content},${outcome}${extra}},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}

/** Encodes a response for the `earlierRevisions`. */
export const writeEarlier = (end: CallEnd, id: string | number): string => writeResponse(end, id, {}, "")

/** Encodes a response for the `currentRevision`. */
export const writeCurrent = (end: CallEnd, id: string | number, meta: object): string =>
  writeResponse(end, id, meta, `,"resultType":"complete"`)

export interface Call {
  readonly tool: Tool
  readonly args: RawFields
  readonly principal: AccountPrincipal
  readonly progressToken: string | number | undefined
  readonly facts: MessageFacts
  readonly write: (end: CallEnd) => string
}

const streamCall = ({ args, facts, principal, progressToken, tool, write }: Call) =>
  Effect.map(Effect.context<never>(), (context) =>
    eventsResponse(
      Stream.callback<string>((events) => {
        const progress: Progress | undefined =
          progressToken === undefined
            ? undefined
            : (done, total) => Effect.asVoid(Queue.offer(events, progressEvent(progressToken, done, total)))
        return traced(facts, callTool(tool, principal, args, progress)).pipe(
          Effect.flatMap((end) => Queue.offer(events, event(write(end)))),
          Effect.andThen(Queue.end(events))
        )
      }).pipe(Stream.provideContext(context))
    )
  )

export const answerCall = (
  call: Call,
  accept: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { args, facts, principal, tool, write } = call
  const hasProgress = call.progressToken !== undefined && tool.reportsProgress === true && acceptsEvents(accept)
  if (hasProgress || wantsEvents(accept)) return streamCall(call)
  return Effect.map(traced(facts, callTool(tool, principal, args)), (end) =>
    HttpServerResponse.text(write(end), { contentType: "application/json" })
  )
}
