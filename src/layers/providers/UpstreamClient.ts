import type { Dispatcher } from "@effect/platform-node/Undici"
import { Context, Data, Effect, Layer, Predicate, Result } from "effect"
import { Bytes } from "../outgoing/Bytes.ts"
import { staleCode } from "../outgoing/Connection.ts"
import * as BoundedDispatcher from "../outgoing/Dispatcher.ts"
import type { UpstreamRequest } from "./UpstreamRequest.ts"

export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{ readonly code: string }> {}

export class BodyTooLarge extends Data.TaggedError("BodyTooLarge") {}

/** Per response. Allows for the overhead of the largest body in chunks of a few bytes. */
const maxReceivedBytes = 8 * 1024 * 1024

export interface Reply {
  readonly status: number
  /** Reads a header by its lowercase name. The values of a repeated header are joined with commas. */
  readonly header: (name: string) => string | undefined
  /** Fails without reading if the declared length exceeds `maxBytes`. */
  readonly body: (maxBytes: number) => Effect.Effect<Buffer, BodyTooLarge | ConnectionFailed>
}

/** Uses Undici directly, because Effect's client takes three times as long per call. */
export class UpstreamClient extends Context.Service<
  UpstreamClient,
  {
    /**
     * Closes the connection if `use` ends without having read the body. A request that may be repeated is sent once more,
     * on a new connection, if the server closed a kept connection without a byte of an answer.
     */
    readonly exchange: <A, E, R>(
      request: UpstreamRequest,
      use: (reply: Reply) => Effect.Effect<A, E, R>,
      options?: { readonly mayRepeat: boolean }
    ) => Effect.Effect<A, E | ConnectionFailed, R>
  }
>()("quarry/layers/providers/UpstreamClient") {
  static readonly layer: Layer.Layer<UpstreamClient> = Layer.effect(
    UpstreamClient,
    Effect.gen(function* () {
      const dispatcher = yield* BoundedDispatcher.make({ maxReceivedBytes })
      // The other kept connections may be closed too.
      const newConnections = yield* BoundedDispatcher.make({ maxReceivedBytes, keepAlive: false })
      return UpstreamClient.of({
        exchange: (request, use, { mayRepeat } = { mayRepeat: false }) => {
          const once = send(dispatcher, request, use)
          if (!mayRepeat) return once
          return Effect.catchIf(once, isStale, () => send(newConnections, request, use))
        }
      })
    })
  )
}

const isStale = (error: unknown): error is ConnectionFailed =>
  error instanceof ConnectionFailed && error.code === staleCode

const send = <A, E, R>(
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  use: (reply: Reply) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | ConnectionFailed, R> =>
  Effect.suspend(() => {
    const { body, headers, method, parameters } = request
    const url = URL.parse(request.url)
    if (url === null) return Effect.fail(new ConnectionFailed({ code: "invalid address" }))
    const exchange = new Exchange()
    const head = exchange.start(dispatcher, {
      method,
      origin: url.origin,
      path: parameters === "" ? url.pathname : `${url.pathname}?${parameters}`,
      headers,
      body,
      // Callers set their own deadlines.
      headersTimeout: 0,
      bodyTimeout: 0
    })
    return Effect.ensuring(
      Effect.flatMap(head, use),
      Effect.sync(() => exchange.close())
    )
  })

type Ended = Result.Result<Buffer, BodyTooLarge | ConnectionFailed>

const failureOf = (error: unknown): ConnectionFailed =>
  new ConnectionFailed({
    code: Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "TransportError"
  })

class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private readonly bytes = new Bytes()
  private maxBytes = Number.POSITIVE_INFINITY
  private closed = false
  private ended: Ended | undefined
  private onHead: ((head: Result.Result<Reply, ConnectionFailed>) => void) | undefined
  private onEnd: ((ended: Ended) => void) | undefined

  start(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Effect.Effect<Reply, ConnectionFailed> {
    return Effect.callback((resume) => {
      // Deferred, because Undici's parser has not finished when it reports a response.
      this.onHead = (head) => queueMicrotask(() => resume(Effect.fromResult(head)))
      try {
        dispatcher.dispatch(options, this)
      } catch (error) {
        this.onResponseError(undefined, error)
      }
    })
  }

  close(): void {
    this.closed = true
    if (this.ended === undefined) this.controller?.abort(new Error("the response is no longer needed"))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.closed) this.close()
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | Array<string> | undefined>): void {
    if (status < 200) return
    const header = (name: string): string | undefined => {
      const value = headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    }
    const declared = Number(header("content-length") ?? 0)
    this.onHead?.(Result.succeed({ status, header, body: (maxBytes) => this.body(declared, maxBytes) }))
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.closed) return
    if (this.bytes.length + chunk.length > this.maxBytes) this.end(Result.fail(new BodyTooLarge()))
    else this.bytes.add(chunk)
  }

  onResponseEnd(): void {
    this.ended ??= Result.succeed(this.bytes.whole)
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
      if (declared > maxBytes || this.bytes.length > maxBytes) return resume(Effect.fail(new BodyTooLarge()))
      if (this.ended !== undefined) return resume(Effect.fromResult(this.ended))
      this.onEnd = (ended) => queueMicrotask(() => resume(Effect.fromResult(ended)))
    })
  }

  private end(ended: Ended): void {
    this.onEnd?.(ended)
    this.onEnd = undefined
  }
}
