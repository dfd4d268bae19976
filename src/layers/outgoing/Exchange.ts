import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { Data, Duration, Effect, Result } from "effect"
import { hostOf } from "../../domain/net/Network.ts"
import { type AddressRules, allowedAddresses, type HostNotAllowed, lookupIn } from "./Addresses.ts"
import { Body, type BodyFailed, type BodyResult, codeOf } from "./Body.ts"
import * as Connection from "./Connection.ts"
import { codingOf } from "./ContentCoding.ts"

export interface ExchangeLimits {
  /** For DNS, connection, request and response together. */
  readonly timeout: Duration.Duration
  /** Limit for the body, both compressed and decompressed. With 0 the connection is closed after the head. */
  readonly maxBodyBytes: number
  readonly cutsBody?: boolean | undefined
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

export const maxHeadBytes = 16 * 1024
export const maxInformational = 8

/** Chunks of a body that are allowed however short they are. */
const freeChunks = 32_768

const tooMuchReceived = "ERR_TOO_MUCH_RECEIVED"

const failed = (error: unknown): ExchangeFailed => {
  const reason = codeOf(error, "the connection failed")
  if (reason === tooMuchReceived) return new ExchangeFailed({ reason, limit: "bytes" })
  return reason === "ETIMEDOUT" ? new ExchangeFailed({ reason, limit: "time" }) : new ExchangeFailed({ reason })
}

const bodyFailed = ({ kind, reason }: BodyFailed): ExchangeFailed =>
  kind === "too_large" ? new ExchangeFailed({ reason, limit: "bytes" }) : failed({ code: reason })

const tooManyInformational = new ExchangeFailed({ reason: `more than ${maxInformational} informational responses` })

const headOf = ({ headers, headersDistinct, statusCode = 0 }: IncomingMessage): ResponseHead => ({
  status: statusCode,
  header: (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  },
  lines: (name) => headersDistinct[name] ?? []
})

type Resume = (result: Effect.Effect<OutgoingResponse, ExchangeFailed>) => void

/** Returns a function that gives up. */
const receive = (
  answer: IncomingMessage,
  request: OutgoingRequest,
  { cutsBody, maxBodyBytes: maxBytes }: ExchangeLimits,
  resume: Resume
): (() => void) => {
  const head = headOf(answer)
  const close = (): void => void answer.destroy()
  const finish = (result: BodyResult): void =>
    resume(
      Effect.fromResult(Result.mapBoth(result, { onSuccess: (body) => ({ ...head, body }), onFailure: bodyFailed }))
    )
  const isDecoded = request.headers["accept-encoding"] !== undefined
  const coding = isDecoded ? codingOf(head.header("content-encoding")) : "identity"
  if (request.wantsBody?.(head) === false || maxBytes === 0 || coding === undefined) {
    answer.on("error", () => undefined)
    finish(Result.succeed(Buffer.alloc(0)))
    close()
    return close
  }
  const source = { pause: () => void answer.pause(), resume: () => void answer.resume(), close }
  const body = new Body({ coding, maxBytes, isCut: cutsBody, freeChunks }, source, finish)
  answer.on("error", (error) => body.fail(error))
  answer.on("data", (chunk: Buffer) => body.write(chunk))
  answer.on("end", () => body.end())
  return () => body.close()
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
  let closeBody = (): void => undefined
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
    maxHeaderSize: maxHeadBytes,
    insecureHTTPParser: false
  })
  let informational = 0
  sent.on("information", () => {
    if (++informational <= maxInformational) return
    resume(Effect.fail(tooManyInformational))
    sent.destroy()
  })
  let isAnswered = false
  sent.on("response", (answer) => {
    isAnswered = true
    closeBody = receive(answer, request, limits, resume)
  })
  sent.on("error", (error) => resume(Effect.fail(failed(error))))
  sent.on("close", () => {
    if (!isAnswered) resume(Effect.fail(failed(undefined)))
  })
  sent.end(body)
  return () => {
    giveUp()
    closeBody()
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
