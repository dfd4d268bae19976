import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import * as ByteSize from "effect/ByteSize"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { InvalidRequest, type RateLimited } from "../../domain/errors.ts"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { hasTooManyParameters } from "../../domain/requests/parameters.ts"
import { setHeaders } from "../requestState.ts"
import { countShed } from "../responses/metrics.ts"
import { type BodyPool, busyError, busyRetrySeconds, CurrentIntake, type Sender } from "./Intake.ts"
import { parseQuery, tooManyParameters } from "./query.ts"

export const maxBodyBytes = ByteSize.mebibytes(1)

const maxBytes = ByteSize.toNumberUnsafe(maxBodyBytes)

export const unreadableBody = InvalidRequest.whole("the body is larger than 1 MiB or could not be read")

export interface BodyLimit {
  readonly bytes: number
  readonly error: InvalidRequest
}

const anyBody: BodyLimit = { bytes: maxBytes, error: unreadableBody }

const formLimit: BodyLimit = { bytes: 64 * 1024, error: InvalidRequest.whole("the body is larger than 64 KiB") }

const notJson = InvalidRequest.whole("the body must be JSON, sent with Content-Type: application/json")

const malformedJson = InvalidRequest.whole(
  "the body is not valid JSON: names and text need double quotes, and no comma may follow the last entry"
)

const notForm = InvalidRequest.whole(
  "the body must be a form, sent with Content-Type: application/x-www-form-urlencoded"
)

/** Rejects invalid UTF-8. Replacing bytes would run a different search. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

const jsonType = /^application\/json\s*(?:;|$)/i

/** Keeps a body of tiny chunks from growing byte by byte. */
const firstAllocationBytes = 4096

/** This many chunks, plus one per `bytesPerPiece` bytes. One-byte chunks would block the process. */
const freePieces = 1024
const bytesPerPiece = 64

const inPieces = InvalidRequest.whole("the body arrives in too many small chunks")

const bodyErrors = new WeakMap<IncomingMessage, InvalidRequest>()

/** Node emits body failures on the server, not on the request. */
const bodyFailure = Symbol("bodyFailure")

export const failBody = (source: IncomingMessage, error: InvalidRequest): void => {
  bodyErrors.set(source, error)
  source.emit(bodyFailure)
}

/** Buffers a body in one doubling buffer. A list of chunks would cost 100 bytes more per chunk. */
class Collector {
  private buffer = Buffer.alloc(0)
  private length = 0
  private pieces = 0
  private readonly pool: BodyPool
  private readonly limit: BodyLimit
  private readonly capacity: number

  constructor(pool: BodyPool, limit: BodyLimit, declaredBytes: number) {
    this.pool = pool
    this.limit = limit
    this.capacity = Math.min(declaredBytes, limit.bytes)
  }

  add(chunk: Buffer): InvalidRequest | RateLimited | undefined {
    const needed = this.length + chunk.length
    if (needed > this.limit.bytes) return this.limit.error
    if (++this.pieces > freePieces + needed / bytesPerPiece) return inPieces
    if (needed > this.buffer.length && !this.grow(needed)) return busyError
    chunk.copy(this.buffer, this.length)
    this.length = needed
    return undefined
  }

  private grow(needed: number): boolean {
    const size = Math.max(needed, Math.min(this.capacity, Math.max(firstAllocationBytes, this.buffer.length * 2)))
    if (!this.pool.take(size - this.buffer.length)) return false
    const buffer = Buffer.allocUnsafeSlow(size)
    this.buffer.copy(buffer, 0, 0, this.length)
    this.buffer = buffer
    return true
  }

  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  release(): void {
    this.pool.giveBack(this.buffer.length)
  }
}

/** Collects a body. Closes the connection if chunks are too small, because even discarding them is costly. */
const collectFrom = (source: IncomingMessage, response: unknown, pool: BodyPool, limit: BodyLimit) =>
  Effect.callback<Uint8Array, InvalidRequest | RateLimited>((resume) => {
    const collector = new Collector(pool, limit, Number(source.headers["content-length"] ?? limit.bytes))
    const stop = (): void => {
      source
        .off("data", onData)
        .off("end", onEnd)
        .off("error", onFailure)
        .off("close", onFailure)
        .off(bodyFailure, onFailure)
      collector.release()
      source.resume()
    }
    const fail = (error: InvalidRequest | RateLimited): void => {
      stop()
      resume(Effect.fail(error))
    }
    const onData = (chunk: Buffer): void => {
      const error = collector.add(chunk)
      if (error === inPieces && response instanceof ServerResponse) response.shouldKeepAlive = false
      if (error !== undefined) fail(error)
    }
    const onEnd = (): void => {
      stop()
      resume(Effect.succeed(collector.bytes))
    }
    const onFailure = (): void => fail(bodyErrors.get(source) ?? unreadableBody)

    if (source.destroyed || bodyErrors.has(source)) return onFailure()
    source.on("data", onData).once("end", onEnd).once("error", onFailure).once("close", onFailure)
    source.once(bodyFailure, onFailure)
    return Effect.sync(stop)
  })

const collectWhole = (request: HttpServerRequest.HttpServerRequest, limit: BodyLimit) =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit.bytes)),
    Effect.mapBoth({ onFailure: () => limit.error, onSuccess: (buffer) => new Uint8Array(buffer) })
  )

export const announceBusy = Effect.andThen(
  countShed,
  Effect.map(CurrentRequest, (state) => setHeaders(state, { "retry-after": String(busyRetrySeconds) }))
)

/** Reads a body of at most 1 MiB (R3). Fails with `rate_limited` if too many are being received (R57). */
export const readBytes = (
  request: HttpServerRequest.HttpServerRequest,
  sender: Sender,
  limit: BodyLimit = anyBody
): Effect.Effect<Uint8Array, InvalidRequest | RateLimited> => {
  if (Number(request.headers["content-length"]) > limit.bytes) return Effect.fail(limit.error)
  const { source } = request
  if (!(source instanceof IncomingMessage)) return collectWhole(request, limit)
  const response = NodeHttpServerRequest.toServerResponse(request)
  const collect = (pool: BodyPool) => collectFrom(source, response, pool, limit)
  return Effect.flatMap(CurrentIntake, (intake) => intake.awaitBody(sender, collect)).pipe(
    Effect.tapErrorTag("rate_limited", () => announceBusy)
  )
}

export const readText = (
  request: HttpServerRequest.HttpServerRequest,
  sender: Sender = "authenticated"
): Effect.Effect<string, InvalidRequest | RateLimited> => {
  const type = request.headers["content-type"]
  if (type === undefined || !jsonType.test(type)) return Effect.fail(notJson)
  return Effect.flatMap(readBytes(request, sender), (bytes) =>
    Effect.try({ try: () => utf8.decode(bytes), catch: () => notJson })
  )
}

/** Reads the text of an optional JSON body, which needs no content type if it is empty. */
export const readOptionalText = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  request.headers["content-type"] === undefined
    ? Effect.flatMap(readBytes(request, "authenticated"), (bytes) =>
        bytes.length === 0 ? Effect.succeed("") : Effect.fail(notJson)
      )
    : readText(request)

export const parseJson = (text: string): Effect.Effect<unknown, InvalidRequest> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => malformedJson })

export const readJson = (
  request: HttpServerRequest.HttpServerRequest,
  sender?: Sender
): Effect.Effect<unknown, InvalidRequest | RateLimited> => Effect.flatMap(readText(request, sender), parseJson)

const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Reads form fields. An empty body is an empty form, regardless of its content type. */
export const readForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const bytes = yield* readBytes(request, "authenticated", formLimit)
  if (bytes.length === 0) return {}
  if (!formType.test(request.headers["content-type"] ?? "")) return yield* Effect.fail(notForm)
  const text = yield* Effect.try({ try: () => utf8.decode(bytes), catch: () => notForm })
  return yield* Effect.fromResult(parseQuery(text))
})

const readAnonymousText = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.map(readBytes(request, "anonymous", formLimit), (bytes) => Buffer.from(bytes).toString())

/** Reads an unauthenticated form as text, ignoring its content type. */
export const readAnonymousForm = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  Effect.flatMap(readAnonymousText(request), (text) =>
    hasTooManyParameters(text) ? Effect.fail(tooManyParameters) : Effect.succeed(text)
  )

export const readAnonymous = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  jsonType.test(request.headers["content-type"] ?? "") ? readAnonymousText(request) : readAnonymousForm(request)
