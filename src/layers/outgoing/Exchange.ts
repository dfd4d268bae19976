import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { Data, Duration, Effect, Predicate } from "effect"
import { hostOf } from "../../domain/net/Network.ts"
import { type AddressRules, allowedAddresses, type HostNotAllowed, lookupIn } from "./Addresses.ts"
import { Bytes } from "./Bytes.ts"
import * as Connection from "./Connection.ts"
import { decoded } from "./ContentCoding.ts"

export interface ExchangeLimits {
  /** For DNS, connection, request and response together. */
  readonly timeout: Duration.Duration
  readonly maxHeadBytes: number
  readonly maxInformational: number
  /** Limit for the body, both compressed and decompressed. With 0 the connection is closed after the head. */
  readonly maxBodyBytes: number
  readonly cutsBody?: boolean
  readonly maxReceivedBytes: number
}

export interface OutgoingRequest {
  readonly method: "GET" | "POST"
  readonly url: URL
  /** Lowercase names. `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Decides from the head if the body is read. An unread body, or a body in an unknown coding, is empty. */
  readonly wantsBody?: (head: ResponseHead) => boolean
}

export interface ResponseHead {
  readonly status: number
  /** The name is lowercase. Only for headers that are not repeated. */
  readonly header: (name: string) => string | undefined
  /** Each line of a header that may be repeated. */
  readonly lines: (name: string) => ReadonlyArray<string>
}

export interface OutgoingResponse extends ResponseHead {
  /** Decompressed if the request has an `accept-encoding`. */
  readonly body: Buffer
}

/** `reason` is a system code or the exceeded limit. Show it only to the operator, because it reveals open ports. */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly reason: string
  readonly limit?: "bytes" | "time"
}> {}

/** A chunk costs CPU time however short it is. A body may have this many, and one more for each `chunkBytes`. */
const freeChunks = 32_768
const chunkBytes = 16

const tooMuchReceived = "ERR_TOO_MUCH_RECEIVED"

const failed = (error: unknown): ExchangeFailed => {
  const reason =
    Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "the connection failed"
  if (reason === tooMuchReceived) return new ExchangeFailed({ reason, limit: "bytes" })
  return reason === "ETIMEDOUT" ? new ExchangeFailed({ reason, limit: "time" }) : new ExchangeFailed({ reason })
}

const exceeded = (what: string): ExchangeFailed => new ExchangeFailed({ reason: `more than ${what}` })

const headOf = ({ headers, headersDistinct, statusCode = 0 }: IncomingMessage): ResponseHead => ({
  status: statusCode,
  header: (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  },
  lines: (name) => headersDistinct[name] ?? []
})

type Resume = (result: Effect.Effect<OutgoingResponse, ExchangeFailed>) => void

const receive = (answer: IncomingMessage, request: OutgoingRequest, limits: ExchangeLimits, resume: Resume): void => {
  const { cutsBody = false, maxBodyBytes } = limits
  const head = headOf(answer)
  const finish = (result: Effect.Effect<Buffer, ExchangeFailed>): void => {
    resume(Effect.map(result, (body) => ({ ...head, body })))
    answer.destroy()
  }
  const fail = (error: unknown): void => finish(Effect.fail(failed(error)))
  answer.on("error", fail)
  const isDecoded = request.headers["accept-encoding"] !== undefined
  const isWanted = maxBodyBytes > 0 && request.wantsBody?.(head) !== false
  const body = isWanted && isDecoded ? decoded(answer, head.header("content-encoding")) : answer
  if (!isWanted || body === undefined) {
    finish(Effect.succeed(Buffer.alloc(0)))
    return
  }
  const bytes = new Bytes()
  let receivedBytes = 0
  let chunks = 0
  const check = (): void => {
    if (chunks > freeChunks + receivedBytes / chunkBytes) {
      finish(Effect.fail(new ExchangeFailed({ reason: `${chunks} chunks in ${receivedBytes} bytes`, limit: "bytes" })))
      return
    }
    if (Math.max(bytes.length, receivedBytes) <= maxBodyBytes) return
    finish(
      cutsBody
        ? Effect.succeed(bytes.whole.subarray(0, maxBodyBytes))
        : Effect.fail(new ExchangeFailed({ reason: `more than ${maxBodyBytes} bytes of body`, limit: "bytes" }))
    )
  }
  answer.on("data", (chunk: Buffer) => {
    chunks++
    receivedBytes += chunk.length
    if (body === answer) bytes.add(chunk)
    check()
  })
  if (body !== answer) {
    body.on("error", fail)
    body.on("data", (piece: Buffer) => {
      bytes.add(piece)
      check()
    })
  }
  body.on("end", () => resume(Effect.succeed({ ...head, body: bytes.whole })))
}

const start = (request: OutgoingRequest, addresses: ReadonlyArray<string>, limits: ExchangeLimits, resume: Resume) => {
  const { body = "", headers, method, url } = request
  const isSecure = url.protocol === "https:"
  const to: Connection.Destination = {
    host: hostOf(url),
    port: Number(url.port) || (isSecure ? 443 : 80),
    isSecure,
    lookup: lookupIn(addresses)
  }
  const connectionLimits = {
    maxReceivedBytes: limits.maxReceivedBytes,
    connectTimeoutMs: Duration.toMillis(limits.timeout)
  }
  let giveUp = (): void => undefined
  const sent: ClientRequest = httpRequest({
    // Connection.open adds TLS itself, so Node's client sends plain HTTP.
    createConnection: (_, created) => {
      // Node accepts any stream, and no stream with an error. Its type says otherwise.
      giveUp = Connection.open(to, connectionLimits, created as (error: Error | null) => void)
      return undefined
    },
    method,
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: {
      ...headers,
      host: url.host,
      ...(method === "GET" ? {} : { "content-length": Buffer.byteLength(body) }),
      connection: "close"
    },
    maxHeaderSize: limits.maxHeadBytes,
    insecureHTTPParser: false
  })
  let informational = 0
  sent.on("information", () => {
    if (++informational <= limits.maxInformational) return
    resume(Effect.fail(exceeded(`${limits.maxInformational} informational responses`)))
    sent.destroy()
  })
  let isAnswered = false
  sent.on("response", (answer) => {
    isAnswered = true
    receive(answer, request, limits, resume)
  })
  sent.on("error", (error) => resume(Effect.fail(failed(error))))
  sent.on("close", () => {
    if (!isAnswered) resume(Effect.fail(failed(undefined)))
  })
  sent.end(body)
  return () => {
    giveUp()
    sent.destroy()
  }
}

/** Connects only to addresses that were checked. Does not follow redirects or use a proxy. */
export const exchange = (
  request: OutgoingRequest,
  rules: AddressRules,
  limits: ExchangeLimits
): Effect.Effect<OutgoingResponse, HostNotAllowed | ExchangeFailed> =>
  Effect.flatMap(allowedAddresses(request.url, rules), (addresses) =>
    Effect.callback<OutgoingResponse, ExchangeFailed>((resume) => {
      const end = start(request, addresses, limits, resume)
      return Effect.sync(end)
    })
  ).pipe(
    Effect.timeoutOrElse({
      duration: limits.timeout,
      orElse: () =>
        Effect.fail(
          new ExchangeFailed({
            reason: `no response within ${Duration.toSeconds(limits.timeout)} seconds`,
            limit: "time"
          })
        )
    })
  )
