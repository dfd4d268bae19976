import { Effect, Predicate } from "effect"
import { HttpServerResponse } from "effect/http"
import type { AccountPrincipal } from "../domain/accounts/Principal.ts"
import type { RawFields } from "../domain/requests/fields.ts"
import { wantsEvents } from "./accept.ts"
import { answerCall, callTool, resultOf, writeEarlier } from "./calls.ts"
import { eventHeaders } from "./events.ts"
import { checkMessages, isId, readCall, toErrorResponse } from "./message.ts"
import { earlierRevisions } from "./revisions.ts"
import { info, type Toolbox } from "./Toolbox.ts"
import { type MessageFacts, traced } from "./trace.ts"

/** The library quotes unknown revisions in its response. */
const maxRevisionCharacters = 32

const requestMembers: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"])

const isPlainMeta = (meta: unknown): meta is RawFields | undefined =>
  meta === undefined ||
  (Predicate.isReadonlyObject(meta) &&
    !("io.modelcontextprotocol/related-task" in meta) &&
    (meta.progressToken === undefined || isId(meta.progressToken)))

/** A single tool call is answered without the library, whose server costs a third of a search. */
const readDirectCall = (body: unknown, revision: string | undefined) => {
  if (revision !== undefined && !earlierRevisions.includes(revision)) return undefined
  if (!Predicate.isReadonlyObject(body) || body.jsonrpc !== "2.0" || body.method !== "tools/call" || !isId(body.id))
    return undefined
  if (!Object.keys(body).every((key) => requestMembers.has(key)) || !Predicate.isReadonlyObject(body.params))
    return undefined
  const { _meta: meta } = body.params
  const call = readCall(body.params)
  if (call === undefined || !isPlainMeta(meta)) return undefined
  return { ...call, id: body.id, progressToken: isId(meta?.progressToken) ? meta.progressToken : undefined }
}

/**
 * Removes `Connection` from streams, because the listener sets it. Puts the only response to a batch into a list, which
 * the library leaves out (JSON-RPC 2.0 section 6).
 */
const toResponse = Effect.fnUntraced(function* (response: Response, isBatch: boolean) {
  const { headers, status } = response
  if (headers.get("content-type") === "text/event-stream") {
    return HttpServerResponse.fromWeb(response).pipe(
      HttpServerResponse.removeHeader("connection"),
      HttpServerResponse.setHeaders(eventHeaders),
      HttpServerResponse.setStatus(status, "OK")
    )
  }
  const text = yield* Effect.promise(() => response.text())
  if (text === "") return HttpServerResponse.empty({ status })
  const isBare = isBatch && response.ok && text.startsWith("{")
  return HttpServerResponse.text(isBare ? `[${text}]` : text, { status, contentType: "application/json" })
})

const factsOf = (message: unknown, header: string | undefined): MessageFacts => {
  const { method, params } = Predicate.isReadonlyObject(message) ? message : {}
  const { clientInfo, protocolVersion } = Predicate.isReadonlyObject(params) ? params : {}
  const { name } = Predicate.isReadonlyObject(clientInfo) ? clientInfo : {}
  return {
    method: typeof method === "string" ? method : "other",
    revision: header ?? (typeof protocolVersion === "string" ? protocolVersion : undefined),
    client: typeof name === "string" ? name : undefined
  }
}

/** Calls in a batch are traced individually, so this traces only the other messages. */
const traceOthers = (batch: ReadonlyArray<unknown>, revision: string | undefined) =>
  Effect.forEach(
    batch.map((message) => factsOf(message, revision)).filter(({ method }) => method !== "tools/call"),
    (facts) => traced(facts, Effect.void),
    { discard: true }
  )

const answerWithLibrary = Effect.fnUntraced(function* (
  body: unknown,
  revision: string | undefined,
  toolbox: Toolbox,
  principal: AccountPrincipal,
  accept: string | undefined
) {
  const { isMessage, open } = yield* Effect.promise(() => import("./ProtocolServer.ts"))
  const error = checkMessages(body, revision, isMessage)
  if (error !== undefined) return toErrorResponse(error)

  const fork = Effect.runPromiseWith(yield* Effect.context<never>())
  const call = (name: string, args: RawFields, signal: AbortSignal) => {
    const tool = toolbox.byName.get(name)
    if (tool === undefined) return undefined
    const called = callTool(tool, principal, args)
    const ended = Array.isArray(body) ? traced({ method: "tools/call", revision }, called) : called
    return fork(Effect.map(ended, resultOf), { signal })
  }
  const { definitions, instructions } = toolbox
  const options = { info, instructions, tools: definitions, events: wantsEvents(accept), call }
  // Released with the request's scope, which aborts the calls of disconnected clients.
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => open(options)),
    ({ close }) => Effect.promise(close)
  )
  const answer = Effect.flatMap(
    Effect.promise(() => server.handle(body, revision)),
    (response) => toResponse(response, Array.isArray(body))
  )
  if (!Array.isArray(body)) return yield* traced(factsOf(body, revision), answer)
  yield* traceOthers(body, revision)
  return yield* answer
})

export const answerEarlier = (
  body: unknown,
  header: string | undefined,
  toolbox: Toolbox,
  principal: AccountPrincipal,
  accept: string | undefined
) => {
  const revision = header?.slice(0, maxRevisionCharacters)
  const direct = readDirectCall(body, revision)
  const tool = direct === undefined ? undefined : toolbox.byName.get(direct.name)
  if (direct === undefined || tool === undefined) {
    return answerWithLibrary(body, revision, toolbox, principal, accept)
  }
  const { args, id, progressToken } = direct
  const facts = { method: "tools/call", revision }
  return answerCall({ tool, args, principal, progressToken, facts, write: (end) => writeEarlier(end, id) }, accept)
}
