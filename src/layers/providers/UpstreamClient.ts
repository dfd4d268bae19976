import type { Dispatcher } from "@effect/platform-node/Undici"
import { Context, Data, Effect, Layer, Result } from "effect"
import { Body, type BodyFailed, codeOf } from "../outgoing/Body.ts"
import { Bytes } from "../outgoing/Bytes.ts"
import { staleCode } from "../outgoing/Connection.ts"
import { codingOf } from "../outgoing/ContentCoding.ts"
import * as BoundedDispatcher from "../outgoing/Dispatcher.ts"
import type { UpstreamRequest } from "./UpstreamRequest.ts"

export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{ readonly code: string }> {}

export class BodyTooLarge extends Data.TaggedError("BodyTooLarge") {}

/** `message` continues "its response". */
export class BodyUndecodable extends Data.TaggedError("BodyUndecodable")<{ readonly message: string }> {}

export type BodyError = BodyTooLarge | BodyUndecodable | ConnectionFailed

/** Per response. Allows for the overhead of the largest body in chunks of a few bytes. */
const maxReceivedBytes = 8 * 1024 * 1024

export interface Reply {
  readonly status: number
  /** Reads a header by its lowercase name. The values of a repeated header are joined with commas. */
  readonly header: (name: string) => string | undefined
  /** Decompressed. Fails without reading if the declared length exceeds `maxBytes`. */
  readonly body: (maxBytes: number) => Effect.Effect<Buffer, BodyError>
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

const failureOf = (error: unknown): ConnectionFailed => new ConnectionFailed({ code: codeOf(error, "TransportError") })

const bodyErrorOf = ({ kind, reason }: BodyFailed): BodyError => {
  if (kind === "too_large") return new BodyTooLarge()
  if (kind === "undecodable") return new BodyUndecodable({ message: "cannot be decompressed" })
  return new ConnectionFailed({ code: reason })
}

class Exchange implements Dispatcher.DispatchHandler {
  private controller: Dispatcher.DispatchController | undefined
  private closed = false
  private isReceived = false
  private failure: ConnectionFailed | undefined
  /** Received before `body` was called, which knows the limit. */
  private early = new Bytes()
  private reading: Body | undefined
  private onHead: ((head: Result.Result<Reply, ConnectionFailed>) => void) | undefined

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
    this.reading?.close()
    if (!this.isReceived) this.controller?.abort(new Error("the response is no longer needed"))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    if (this.closed) this.close()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | Array<string> | undefined>
  ): void {
    if (status < 200) return
    const header = (name: string): string | undefined => {
      const value = headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    }
    this.onHead?.(Result.succeed({ status, header, body: (maxBytes) => this.body(controller, header, maxBytes) }))
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.reading === undefined) this.early.add(chunk)
    else this.reading.write(chunk)
  }

  onResponseEnd(): void {
    this.isReceived = true
    this.reading?.end()
  }

  onResponseError(_: unknown, error: unknown): void {
    this.isReceived = true
    this.failure = failureOf(error)
    this.onHead?.(Result.fail(this.failure))
    this.reading?.fail(error)
  }

  private body(
    controller: Dispatcher.DispatchController,
    header: Reply["header"],
    maxBytes: number
  ): Effect.Effect<Buffer, BodyError> {
    return Effect.callback((resume) => {
      const coding = codingOf(header("content-encoding"))
      if (coding === undefined)
        return resume(Effect.fail(new BodyUndecodable({ message: "uses a compression that was not requested" })))
      if (Number(header("content-length") ?? 0) > maxBytes) return resume(Effect.fail(new BodyTooLarge()))
      if (this.failure !== undefined) return resume(Effect.fail(this.failure))
      const source = {
        pause: () => controller.pause(),
        resume: () => controller.resume(),
        close: () => (this.isReceived ? undefined : controller.abort(new Error("the body is no longer needed")))
      }
      const body = new Body({ coding, maxBytes }, source, (result) =>
        queueMicrotask(() => resume(Effect.fromResult(Result.mapError(result, bodyErrorOf))))
      )
      this.reading = body
      if (this.early.length > 0) body.write(this.early.whole)
      this.early = new Bytes()
      if (this.isReceived) body.end()
      return Effect.sync(() => body.close())
    })
  }
}
