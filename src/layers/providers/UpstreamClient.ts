import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Context, Data, Effect, Layer, Option, Predicate, Result } from "effect"
import { Headers, type HttpClientRequest, Url } from "effect/http"

/** The connection could not be made or broke. `code` is the system's word for it, such as ECONNREFUSED. */
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{ readonly code: string }> {}

/** The body is longer than whoever read it allowed. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge") {}

/** What an upstream has begun to answer. */
export interface Reply {
  readonly status: number
  readonly headers: Headers.Headers
  /** The body, read to its end and no further than `maxBytes`: what is declared longer is not read at all. */
  readonly body: (maxBytes: number) => Effect.Effect<Buffer, BodyTooLarge | ConnectionFailed>
}

/**
 * Sends requests to upstreams. Directly on Undici: an upstream is called for nearly every search, and there Effect's own
 * client takes three times as long as the call itself, for streams, spans and context that nobody needs.
 */
export class UpstreamClient extends Context.Service<
  UpstreamClient,
  {
    /** Hands the answer to `use`. When that ends with the body unread, or is interrupted, the connection is closed. */
    readonly exchange: <A, E, R>(
      request: HttpClientRequest.HttpClientRequest,
      use: (reply: Reply) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | ConnectionFailed, R>
  }
>()("quarry/layers/providers/UpstreamClient") {
  static readonly layer: Layer.Layer<UpstreamClient> = Layer.effect(
    UpstreamClient,
    Effect.map(NodeHttpClient.Dispatcher, (dispatcher) =>
      UpstreamClient.of({
        exchange: (request, use) =>
          Effect.suspend(() => {
            const url = Url.make(request.url, request.urlParams, Option.getOrUndefined(request.hash))
            if (Result.isFailure(url)) return Effect.fail(new ConnectionFailed({ code: "invalid address" }))
            const { origin, pathname, search } = url.success
            const { body, headers, method } = request
            const exchange = new Exchange()
            const head = exchange.start(dispatcher, {
              method,
              origin,
              path: pathname + search,
              headers,
              body: body._tag === "Uint8Array" ? body.body : null,
              // Time is kept by those who call.
              headersTimeout: 0,
              bodyTimeout: 0
            })
            return Effect.ensuring(
              Effect.flatMap(head, use),
              Effect.sync(() => exchange.close())
            )
          })
      })
    )
  ).pipe(Layer.provide(NodeHttpClient.layerDispatcher))
}

type Ended = Result.Result<Buffer, BodyTooLarge | ConnectionFailed>

const failureOf = (error: unknown): ConnectionFailed =>
  new ConnectionFailed({
    code: Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "TransportError"
  })

/** A request and its answer as Undici tells of it, piece by piece. */
class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private readonly chunks: Array<Buffer> = []
  private bytes = 0
  private maxBytes = Number.POSITIVE_INFINITY
  private closed = false
  private ended: Ended | undefined
  private onHead: ((head: Result.Result<Reply, ConnectionFailed>) => void) | undefined
  private onEnd: ((ended: Ended) => void) | undefined

  start(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Effect.Effect<Reply, ConnectionFailed> {
    return Effect.callback((resume) => {
      // Not from within Undici's parser, which is in the middle of its work when it tells of an answer.
      this.onHead = (head) => queueMicrotask(() => resume(Effect.fromResult(head)))
      try {
        dispatcher.dispatch(options, this)
      } catch (error) {
        this.onResponseError(undefined, error)
      }
    })
  }

  /** Breaks off what has not ended. */
  close(): void {
    this.closed = true
    if (this.ended === undefined) this.controller?.abort(new Error("nobody waits for the answer any more"))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.closed) this.close()
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | Array<string> | undefined>): void {
    if (status < 200) return
    const reply = { status, headers: Headers.fromInput(headers) }
    const declared = Number(reply.headers["content-length"] ?? 0)
    this.onHead?.(Result.succeed({ ...reply, body: (maxBytes) => this.body(declared, maxBytes) }))
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.bytes += chunk.length
    this.chunks.push(chunk)
    if (this.bytes > this.maxBytes) this.end(Result.fail(new BodyTooLarge()))
  }

  onResponseEnd(): void {
    this.ended ??= Result.succeed(Buffer.concat(this.chunks, this.bytes))
    this.end(this.ended)
  }

  onResponseError(_: unknown, error: unknown): void {
    const failure = failureOf(error)
    this.onHead?.(Result.fail(failure))
    this.ended ??= Result.fail(failure)
    this.end(this.ended)
  }

  private body(declared: number, maxBytes: number): Effect.Effect<Buffer, BodyTooLarge | ConnectionFailed> {
    return Effect.callback((resume) => {
      this.maxBytes = maxBytes
      if (declared > maxBytes || this.bytes > maxBytes) return resume(Effect.fail(new BodyTooLarge()))
      if (this.ended !== undefined) return resume(Effect.fromResult(this.ended))
      this.onEnd = (ended) => queueMicrotask(() => resume(Effect.fromResult(ended)))
    })
  }

  private end(ended: Ended): void {
    this.onEnd?.(ended)
    this.onEnd = undefined
  }
}
