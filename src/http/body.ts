import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import * as ByteSize from "effect/ByteSize"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { InvalidRequest, type RateLimited } from "../domain/errors.ts"
import { CurrentRequest, setHeaders } from "./CurrentRequest.ts"
import { type BodyPool, busy, busyRetrySeconds, CurrentIntake, type Sender } from "./Intake.ts"
import { countShed } from "./metrics.ts"

/** The largest request body that is read. */
export const maxBodyBytes = ByteSize.mebibytes(1)

const maxBytes = ByteSize.toNumberUnsafe(maxBodyBytes)

export const unreadable = InvalidRequest.whole("the body is larger than 1 MiB or could not be read")

const notJson = InvalidRequest.whole("the body must be JSON, sent with Content-Type: application/json")

/** Fatal: bytes that are not UTF-8 would otherwise be replaced, and another search run than the one that was sent. */
const utf8 = new TextDecoder("utf-8", { fatal: true })

const jsonType = /^application\/json\s*(?:;|$)/i

/** The first allocation for a body, so that a body of tiny chunks does not grow byte by byte. */
const firstBytes = 4096

/**
 * Pieces that a body may arrive in: so many, and one more for each `bytesPerPiece` bytes. Each piece costs a call of the
 * parser and an event, so that a body in pieces of one byte would keep the process from everybody else.
 */
const freePieces = 1024
const bytesPerPiece = 64

const inPieces = InvalidRequest.whole("the body arrives in too many small pieces")

/** Bodies that broke off: what failed them, for whoever collects one or is about to. */
const brokenBodies = new WeakMap<IncomingMessage, InvalidRequest>()

/** An event of our own on a request: Node tells the server of a broken body, and not the request. */
const broken = Symbol("broken")

/** Fails the body of a request that cannot arrive any more, in pieces that parse and in time. */
export const breakBody = (source: IncomingMessage, error: InvalidRequest): void => {
  brokenBodies.set(source, error)
  source.emit(broken)
}

/** A body as it arrives: one buffer that doubles, because a chunk kept as it came takes 100 bytes beside its own. */
class Collector {
  private buffer = Buffer.alloc(0)
  private length = 0
  private pieces = 0
  private readonly pool: BodyPool
  private readonly capacity: number

  constructor(pool: BodyPool, declaredBytes: number) {
    this.pool = pool
    this.capacity = Math.min(declaredBytes, maxBytes)
  }

  /** Adds a chunk, or answers what is wrong with it. */
  add(chunk: Buffer): InvalidRequest | RateLimited | undefined {
    const needed = this.length + chunk.length
    if (needed > maxBytes) return unreadable
    if (++this.pieces > freePieces + needed / bytesPerPiece) return inPieces
    if (needed > this.buffer.length && !this.grow(needed)) return busy
    chunk.copy(this.buffer, this.length)
    this.length = needed
    return undefined
  }

  private grow(needed: number): boolean {
    const size = Math.max(needed, Math.min(this.capacity, Math.max(firstBytes, this.buffer.length * 2)))
    if (!this.pool.take(size - this.buffer.length)) return false
    const grown = Buffer.allocUnsafeSlow(size)
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
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
const collectFrom = (source: IncomingMessage, response: unknown, pool: BodyPool) =>
  Effect.callback<Uint8Array, InvalidRequest | RateLimited>((resume) => {
    const collector = new Collector(pool, Number(source.headers["content-length"] ?? maxBytes))
    const stop = (): void => {
      source
        .off("data", onData)
        .off("end", onEnd)
        .off("error", onFailure)
        .off("close", onFailure)
        .off(broken, onFailure)
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
    const onFailure = (): void => fail(brokenBodies.get(source) ?? unreadable)

    if (source.destroyed || brokenBodies.has(source)) return onFailure()
    source.on("data", onData).once("end", onEnd).once("error", onFailure).once("close", onFailure)
    source.once(broken, onFailure)
    return Effect.sync(stop)
  })

/** A request that came over no connection, as those of tests. */
const collectWhole = (request: HttpServerRequest.HttpServerRequest) =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, maxBodyBytes),
    Effect.mapBoth({ onFailure: () => unreadable, onSuccess: (buffer) => new Uint8Array(buffer) })
  )

/**
 * The body of a request, at most 1 MiB (R3). Fails with `rate_limited` when as many bodies, or as many bytes of them,
 * are being collected as may be (R57).
 */
export const readBytes = (
  request: HttpServerRequest.HttpServerRequest,
  sender: Sender
): Effect.Effect<Uint8Array, InvalidRequest | RateLimited> => {
  // Refused by its declaration: a sender that is slow to send what would be refused need not be waited for.
  if (Number(request.headers["content-length"]) > maxBytes) return Effect.fail(unreadable)
  const { source } = request
  if (!(source instanceof IncomingMessage)) return collectWhole(request)
  const response = NodeHttpServerRequest.toServerResponse(request)
  const collect = (pool: BodyPool) => collectFrom(source, response, pool)
  return Effect.flatMap(CurrentIntake, (intake) => intake.awaitBody(sender, collect)).pipe(
    Effect.tapErrorTag("rate_limited", () =>
      Effect.andThen(
        countShed,
        Effect.map(CurrentRequest, (state) => setHeaders(state, { "retry-after": String(busyRetrySeconds) }))
      )
    )
  )
}

/** The body as JSON's text. A wrong content type or none, one that is too large and bytes that are no text fail the request (R3). */
export const readText = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> => {
  const type = request.headers["content-type"]
  if (type === undefined || !jsonType.test(type)) return Effect.fail(notJson)
  return Effect.flatMap(readBytes(request, "known"), (bytes) =>
    Effect.try({ try: () => utf8.decode(bytes), catch: () => notJson })
  )
}

/** The body as JSON. */
export const readJson = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<unknown, InvalidRequest | RateLimited> =>
  Effect.flatMap(readText(request), (text) =>
    Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })
  )

/** The body of a request that carries no credential, such as a form. Bytes that are not UTF-8 are replaced. */
export const readAnonymous = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<string, InvalidRequest | RateLimited> =>
  Effect.map(readBytes(request, "anonymous"), (bytes) => Buffer.from(bytes).toString())
