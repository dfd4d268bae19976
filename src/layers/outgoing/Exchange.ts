import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http"
import { Data, Duration, Effect, Predicate } from "effect"
import { hostOf } from "../../domain/Network.ts"
import { type AddressRules, allowedAddresses, type HostNotAllowed, lookupIn } from "./Addresses.ts"
import { Bytes } from "./Bytes.ts"
import * as Connection from "./Connection.ts"

/** The most that one exchange may take. What passes a limit ends the exchange and is not read. */
export interface ExchangeLimits {
  /** For the name, the connection, the request and the response together. */
  readonly timeout: Duration.Duration
  /** The head of the response, and each informational response before it. */
  readonly maxHeadBytes: number
  readonly maxInformational: number
  /** The body without its framing. 0: the body is not read, and the connection is closed behind the head. */
  readonly maxBodyBytes: number
  /** Everything that arrives: TLS, informational responses, the head, the body with its framing, and trailers. */
  readonly maxReceivedBytes: number
}

export interface OutgoingRequest {
  readonly method: "GET" | "POST"
  readonly url: URL
  /** Names in lower case. `host`, `connection` and `content-length` are added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface OutgoingResponse {
  readonly status: number
  /** The value of a header that may be there once, by its name in lower case. */
  readonly header: (name: string) => string | undefined
  readonly body: Buffer
}

/**
 * No response. `reason` is the system's code, such as ECONNREFUSED, or the limit that was passed. It is for the operator:
 * it tells open ports from closed ones.
 */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{ readonly reason: string }> {}

const failed = (error: unknown): ExchangeFailed =>
  new ExchangeFailed({
    reason:
      Predicate.hasProperty(error, "code") && typeof error.code === "string" ? error.code : "the connection failed"
  })

const passed = (what: string): ExchangeFailed => new ExchangeFailed({ reason: `more than ${what}` })

const headOf = ({ headers, statusCode = 0 }: IncomingMessage) => ({
  status: statusCode,
  header: (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  }
})

type Resume = (result: Effect.Effect<OutgoingResponse, ExchangeFailed>) => void

/** Reads the body to its end, or closes the connection where none is wanted. */
const receive = (answer: IncomingMessage, maxBytes: number, resume: Resume): void => {
  const head = headOf(answer)
  answer.on("error", (error) => resume(Effect.fail(failed(error))))
  if (maxBytes === 0) {
    resume(Effect.succeed({ ...head, body: Buffer.alloc(0) }))
    answer.destroy()
    return
  }
  const bytes = new Bytes()
  answer.on("data", (piece: Buffer) => {
    bytes.add(piece)
    if (bytes.length <= maxBytes) return
    resume(Effect.fail(passed(`${maxBytes} bytes of body`)))
    answer.destroy()
  })
  answer.on("end", () => resume(Effect.succeed({ ...head, body: bytes.whole })))
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
    // The connection has its own TLS, so that this is plain HTTP for Node's client.
    createConnection: (_, created) => {
      // Node takes a connection as any stream, and an error without one.
      giveUp = Connection.open(to, connectionLimits, created as (error: Error | null) => void)
      return undefined
    },
    method,
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: { ...headers, host: url.host, "content-length": Buffer.byteLength(body), connection: "close" },
    maxHeaderSize: limits.maxHeadBytes,
    insecureHTTPParser: false
  })
  let informational = 0
  sent.on("information", () => {
    if (++informational <= limits.maxInformational) return
    resume(Effect.fail(passed(`${limits.maxInformational} informational responses`)))
    sent.destroy()
  })
  let isAnswered = false
  sent.on("response", (answer) => {
    isAnswered = true
    receive(answer, limits.maxBodyBytes, resume)
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

/**
 * Sends one request on a connection of its own and returns the response. It resolves the host once, judges every address
 * behind it, and connects to no other. It follows no redirect, decompresses nothing, and uses no proxy.
 */
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
        Effect.fail(new ExchangeFailed({ reason: `no answer within ${Duration.toSeconds(limits.timeout)} seconds` }))
    })
  )
