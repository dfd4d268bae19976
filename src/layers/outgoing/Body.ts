import type { Transform } from "node:stream"
import { Data, Effect, Predicate, Result } from "effect"
import { Bytes } from "./Bytes.ts"
import { type Coding, decoderFor } from "./ContentCoding.ts"

/** The connection that a body arrives on. */
export interface BodySource {
  readonly pause: () => void
  readonly resume: () => void
  /** Called once, when the body ends for any reason. */
  readonly close: () => void
}

export interface BodyOptions {
  readonly coding: Coding
  /** Limit for the received and for the decompressed bytes. */
  readonly maxBytes: number
  /** Returns the first `maxBytes` of a larger body, which is `too_large` by default. */
  readonly isCut?: boolean | undefined
  /** A chunk costs CPU time however short it is. A body may have this many, and one more for each 16 bytes. */
  readonly freeChunks?: number | undefined
}

export class BodyFailed extends Data.TaggedError("BodyFailed")<{
  /** `undecodable`: the compressed data is invalid or cut off. `lost`: the connection failed. */
  readonly kind: "too_large" | "undecodable" | "lost"
  /** A system code, or the exceeded limit. Show it only to the operator. */
  readonly reason: string
}> {}

export type BodyResult = Result.Result<Buffer, BodyFailed>

const chunkBytes = 16

/** Received bytes that wait for the decoder. Above this, the source waits. */
const maxWaitingBytes = 64 * 1024

export const codeOf = (error: unknown, otherwise: string): string =>
  Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : otherwise

const failed = (kind: BodyFailed["kind"], reason: string): BodyResult => Result.fail(new BodyFailed({ kind, reason }))

/**
 * The only reader of response bodies from servers that others control. Push received chunks into it, and call `close` to
 * give up. However a body ends, its decoder is destroyed and its memory is released before `onEnd` is called: an
 * abandoned decoder would decompress the rest of its input, which can be gigabytes.
 */
export class Body {
  readonly #options: BodyOptions
  readonly #source: BodySource
  readonly #onEnd: (result: BodyResult) => void
  #decoder: Transform | undefined
  #isDecoding = false
  #isPaused = false
  #bytes = new Bytes()
  /** Bytes that arrived while the decoder was busy. They are decoded in one call, because a call costs a trip to a thread. */
  #waiting = new Bytes()
  #receivedBytes = 0
  #chunks = 0
  #isReceived = false
  #isEnded = false

  constructor(options: BodyOptions, source: BodySource, onEnd: (result: BodyResult) => void) {
    this.#options = options
    this.#source = source
    this.#onEnd = onEnd
  }

  write(chunk: Buffer): void {
    if (this.#isEnded) return
    const { coding, freeChunks = Number.POSITIVE_INFINITY } = this.#options
    this.#chunks++
    this.#receivedBytes += chunk.length
    if (this.#chunks > freeChunks + this.#receivedBytes / chunkBytes) {
      this.#end(failed("too_large", `${this.#chunks} chunks in ${this.#receivedBytes} bytes`))
      return
    }
    if (coding === "identity") {
      this.#add(chunk)
      return
    }
    if (this.#receivedBytes > this.#options.maxBytes) {
      this.#exceed()
      return
    }
    this.#waiting.add(chunk)
    this.#pause(this.#waiting.length > maxWaitingBytes)
    this.#decoder ??= this.#start(decoderFor(coding, chunk))
    this.#decode(this.#decoder)
  }

  /** The source has sent everything. */
  end(): void {
    this.#isReceived = true
    if (this.#decoder === undefined) this.#end(Result.succeed(this.#bytes.whole))
    else this.#decode(this.#decoder)
  }

  fail(error: unknown): void {
    this.#end(failed("lost", codeOf(error, "the connection failed")))
  }

  /** Gives up. `onEnd` is not called. */
  close(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#decoder?.destroy()
    this.#bytes = new Bytes()
    this.#waiting = new Bytes()
    this.#source.close()
  }

  #start(decoder: Transform): Transform {
    decoder.on("data", (piece: Buffer) => this.#add(piece))
    decoder.on("end", () => this.#end(Result.succeed(this.#bytes.whole)))
    decoder.on("error", (error) => this.#end(failed("undecodable", codeOf(error, error.message))))
    return decoder
  }

  #decode(decoder: Transform): void {
    if (this.#isDecoding || this.#isEnded) return
    if (this.#waiting.length === 0) {
      if (this.#isReceived) decoder.end()
      return
    }
    const piece = this.#waiting.whole
    this.#waiting = new Bytes()
    this.#isDecoding = true
    decoder.write(piece, () => {
      this.#isDecoding = false
      if (this.#isEnded) return
      this.#pause(false)
      this.#decode(decoder)
    })
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#source.pause()
    else this.#source.resume()
  }

  #add(piece: Buffer): void {
    if (this.#isEnded) return
    this.#bytes.add(piece)
    if (this.#bytes.length > this.#options.maxBytes) this.#exceed()
  }

  #exceed(): void {
    const { isCut = false, maxBytes } = this.#options
    this.#end(
      isCut
        ? Result.succeed(this.#bytes.whole.subarray(0, maxBytes))
        : failed("too_large", `more than ${maxBytes} bytes of body`)
    )
  }

  #end(result: BodyResult): void {
    if (this.#isEnded) return
    this.close()
    this.#onEnd(result)
  }
}

/** Decompresses bytes that were received before. */
export const decodeBody = (bytes: Uint8Array, options: BodyOptions): Effect.Effect<Buffer, BodyFailed> =>
  Effect.callback((resume) => {
    const nothing = (): void => undefined
    const source: BodySource = { pause: nothing, resume: nothing, close: nothing }
    const body = new Body(options, source, (result) => resume(Effect.fromResult(result)))
    body.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    body.end()
    return Effect.sync(() => body.close())
  })
