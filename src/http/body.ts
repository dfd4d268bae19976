import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import * as ByteSize from "effect/ByteSize"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { InvalidRequest, type RateLimited } from "../domain/errors.ts"
import { hasTooManyParameters } from "../domain/parameters.ts"
import { CurrentRequest, setHeaders } from "./CurrentRequest.ts"
import { type BodyPool, busyError, busyRetrySeconds, CurrentIntake, type Sender } from "./listener/Intake.ts"
import { countShed } from "./metrics.ts"
import { parseQuery, tooManyParameters } from "./query.ts"

/** The largest request body that is read. */
export const maxBodyBytes = ByteSize.mebibytes(1)

const maxBytes = ByteSize.toNumberUnsafe(maxBodyBytes)

export const unreadableBody = InvalidRequest.whole("the body is larger than 1 MiB or could not be read")

/** The largest body of a kind, and the error of a larger one. */
export interface BodyLimit {
  readonly bytes: number
  readonly error: InvalidRequest
}

const anyBody: BodyLimit = { bytes: maxBytes, error: unreadableBody }

/** The limit of forms, and of what is sent to sign-in (R70). */
const formLimit: BodyLimit = { bytes: 64 * 1024, error: InvalidRequest.whole("the body is larger than 64 KiB") }

const notJson = InvalidRequest.whole("the body must be JSON, sent with Content-Type: application/json")

const notForm = InvalidRequest.whole(
  "the body must be a form, sent with Content-Type: application/x-www-form-urlencoded"
)

/** Fails on bytes that are not UTF-8. Replacing them would run another search than the one that was sent. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

const jsonType = /^application\/json\s*(?:;|$)/i

/** The first allocation for a body, so that a body of tiny chunks does not grow byte by byte. */
const firstAllocationBytes = 4096

/**
 * Pieces that a body may arrive in: so many, and one more for each `bytesPerPiece` bytes. Each piece costs a call of the
 * parser and an event, so that a body in pieces of one byte would keep the process from everybody else.
 */
const freePieces = 1024
const bytesPerPiece = 64

const inPieces = InvalidRequest.whole("the body arrives in too many small pieces")

/** The error of each body that failed, so that a handler which reads the body later fails too. */
const bodyErrors = new WeakMap<IncomingMessage, InvalidRequest>()

/** An event of our own on a request: Node emits a failure of the body on the server and not on the request. */
const bodyFailure = Symbol("bodyFailure")

/** Fails the body of a request whose remaining bytes are malformed or too late. */
export const failBody = (source: IncomingMessage, error: InvalidRequest): void => {
  bodyErrors.set(source, error)
  source.emit(bodyFailure)
}

/** Buffers a body as it arrives, in one buffer that doubles: a list of chunks would take 100 bytes more for each. */
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

  /** Adds a chunk, or returns the error that it fails the body with. */
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

/**
 * Collects the body of a request from its connection. What comes after a failure is discarded; the connection of a body
 * in small pieces is closed with its answer, because discarding them costs as much as keeping them.
 */
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

/** Reads the body of a request without a connection, as tests make it. */
const collectWhole = (request: HttpServerRequest.HttpServerRequest, limit: BodyLimit) =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit.bytes)),
    Effect.mapBoth({ onFailure: () => limit.error, onSuccess: (buffer) => new Uint8Array(buffer) })
  )

/** Counts a request that `busyError` ends, and adds its `Retry-After`. */
export const announceBusy = Effect.andThen(
  countShed,
  Effect.map(CurrentRequest, (state) => setHeaders(state, { "retry-after": String(busyRetrySeconds) }))
)

/**
 * Reads the body of a request within a limit, 1 MiB if none is given (R3). Fails with `rate_limited` where the limits on bodies that are being
 * received are reached (R57).
 */
export const readBytes = (
  request: HttpServerRequest.HttpServerRequest,
  sender: Sender,
  limit: BodyLimit = anyBody
): Effect.Effect<Uint8Array, InvalidRequest | RateLimited> => {
  // Fails by the declared length, without a wait for a body that would fail anyway.
  if (Number(request.headers["content-length"]) > limit.bytes) return Effect.fail(limit.error)
  const { source } = request
  if (!(source instanceof IncomingMessage)) return collectWhole(request, limit)
  const response = NodeHttpServerRequest.toServerResponse(request)
  const collect = (pool: BodyPool) => collectFrom(source, response, pool, limit)
  return Effect.flatMap(CurrentIntake, (intake) => intake.awaitBody(sender, collect)).pipe(
    Effect.tapErrorTag("rate_limited", () => announceBusy)
  )
}

/** Reads the body as text of JSON. Fails on another content type, a body that is too large, and invalid UTF-8 (R3). */
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

/** Reads a body that may be left out as JSON; undefined for one without a byte. */
export const readOptionalJson = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<unknown, InvalidRequest | RateLimited> =>
  request.headers["content-type"] === undefined
    ? Effect.flatMap(readBytes(request, "authenticated"), (bytes) =>
        bytes.length === 0 ? Effect.undefined : Effect.fail(notJson)
      )
    : Effect.flatMap(readText(request), (text) => (text === "" ? Effect.undefined : parseJson(text)))

const parseJson = (text: string) => Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })

/** Reads the body as JSON. */
export const readJson = (
  request: HttpServerRequest.HttpServerRequest,
  sender?: Sender
): Effect.Effect<unknown, InvalidRequest | RateLimited> => Effect.flatMap(readText(request, sender), parseJson)

const formType = /^application\/x-www-form-urlencoded\s*(?:;|$)/i

/** Reads the fields of a form. A body without a byte is a form without fields, whatever its content type says. */
export const readForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const bytes = yield* readBytes(request, "authenticated", formLimit)
  if (bytes.length === 0) return {}
  if (!formType.test(request.headers["content-type"] ?? "")) return yield* Effect.fail(notForm)
  const text = yield* Effect.try({ try: () => utf8.decode(bytes), catch: () => notForm })
  return yield* Effect.fromResult(parseQuery(text))
})

/** Reads the body of a request without a credential. Bytes that are not UTF-8 are replaced. */
const readAnonymousText = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.map(readBytes(request, "anonymous", formLimit), (bytes) => Buffer.from(bytes).toString())

/** Reads the form of a request without a credential as text, whatever its content type says. */
export const readAnonymousForm = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  Effect.flatMap(readAnonymousText(request), (text) =>
    hasTooManyParameters(text) ? Effect.fail(tooManyParameters) : Effect.succeed(text)
  )

/** Reads the JSON or the form of a request without a credential as text. */
export const readAnonymous = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  jsonType.test(request.headers["content-type"] ?? "") ? readAnonymousText(request) : readAnonymousForm(request)
