import { promisify } from "node:util"
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from "node:zlib"
import { Clock, Effect, Option, Predicate, Schema, Stream, type Tracer } from "effect"
import { Headers, HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { Refusal, type RefusalReason } from "../../services/Provider.ts"
import { currentSpan, traceContext } from "../../services/Tracing.ts"
import type { Gate } from "./Gate.ts"

/** The largest answer that is read, as it arrives and once it is decompressed. */
const maxBodyBytes = 2 * 1024 * 1024

/** The explanation of a refusal has a few hundred bytes, and nobody waits long for it. */
const maxExplanationBytes = 16 * 1024
const explanationTimeout = "2 seconds"

/** Refuses; the message continues "it …" or names a part of what the upstream gave. */
export const refuse = (reason: RefusalReason, message: string) => Effect.fail(new Refusal({ reason, message }))

const tooLarge = (limit: number) =>
  new Refusal({ reason: "malformed", message: `its answer is larger than ${limit} bytes` })

type Decompress = (body: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>

const decompressors: { readonly [encoding: string]: Decompress | undefined } = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress)
}

const decompressed = (encoding: string, body: Uint8Array, limit: number): Effect.Effect<Uint8Array, Refusal> => {
  if (encoding === "" || encoding === "identity") return Effect.succeed(body)
  const decompress = Object.hasOwn(decompressors, encoding) ? decompressors[encoding] : undefined
  if (decompress === undefined) return refuse("malformed", "its answer is compressed in a way not asked for")
  return Effect.tryPromise({
    try: () => decompress(body, { maxOutputLength: limit }),
    catch: (error) =>
      Predicate.hasProperty(error, "code") && error.code === "ERR_BUFFER_TOO_LARGE"
        ? tooLarge(limit)
        : new Refusal({ reason: "malformed", message: "its answer does not decompress" })
  })
}

/** The body as text, read no further than is allowed: what is declared too large is not read at all. */
const boundedText = (response: HttpClientResponse.HttpClientResponse, limit: number) =>
  Effect.gen(function* () {
    if (Number(response.headers["content-length"] ?? 0) > limit) return yield* tooLarge(limit)
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    yield* Stream.runForEach(response.stream, (chunk) => {
      bytes += chunk.length
      chunks.push(chunk)
      return bytes > limit ? Effect.fail(tooLarge(limit)) : Effect.void
    })
    const encoding = (response.headers["content-encoding"] ?? "").trim().toLowerCase()
    return Buffer.from(yield* decompressed(encoding, Buffer.concat(chunks), limit)).toString("utf8")
  })

const parseJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Fields in which upstreams say what is wrong; others, such as the figures of a plan, would be misread. */
const explaining = ["error", "errors", "message", "detail", "code", "msg", "tag", "error_description", "status"]

/** What an answer says is wrong, in its own words: for `reasonFor` alone, as it may repeat the key that was sent. */
export const explanation = (json: unknown, depth = 0): string => {
  if (typeof json === "string" && depth > 0) return json.slice(0, 500)
  if (depth > 3 || typeof json !== "object" || json === null) return ""
  if (Array.isArray(json))
    return json
      .slice(0, 5)
      .map((item) => explanation(item, depth + 1))
      .join(" ")
  return Object.entries(json)
    .map(([name, value]) => (explaining.includes(name) ? explanation(value, depth + 1) : ""))
    .join(" ")
}

const meanings: ReadonlyArray<readonly [RegExp, RefusalReason]> = [
  [/captcha|blocked/i, "blocked"],
  [/rate.?limit|too many requests|throttl/i, "rate_limited"],
  [/quota|credit|balance|budget|out of searches|run out|(daily|monthly|usage|plan|spend\w*) limit/i, "quota"],
  [/api.?key|unauthori[sz]ed|token|authenticat|credential/i, "unauthorized"],
  [/time.?out|timed out/i, "timeout"]
]

/** What the words of an upstream mean; undefined when they are none of those that upstreams use. */
export const reasonFor = (words: string): RefusalReason | undefined =>
  meanings.find(([pattern]) => pattern.test(words))?.[1]

/** Statuses that several things share, with those that the answer's words may tell apart. */
const refined: { readonly [status: number]: ReadonlyArray<RefusalReason> | undefined } = {
  400: ["quota", "unauthorized", "rate_limited"],
  403: ["quota", "unauthorized", "rate_limited", "blocked"],
  429: ["quota", "blocked"]
}

const meaningOf = (status: number): RefusalReason => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 402) return "quota"
  if (status === 429) return "rate_limited"
  if (status === 408 || status === 504) return "timeout"
  return status >= 500 ? "unreachable" : "malformed"
}

/** Milliseconds of a Retry-After header in either of its forms (RFC 9110, 10.2.3). */
const retryAfterOf = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** How an upstream differs from the rest. */
export interface Dialect {
  /** Statuses that mean something else with it than with others, and why. */
  readonly statuses?: {
    readonly [status: number]: { readonly reason: RefusalReason; readonly why?: string } | undefined
  }
  /** The time it wants to be left alone, where it does not say so in Retry-After. */
  readonly retryAfterMs?: (headers: Headers.Headers, reason: RefusalReason) => number | undefined
}

/**
 * Why an answer that is not 2xx gives no rows. Its body is read for the reason and never quoted: it may be a whole
 * page of a proxy's, or repeat the key.
 */
const refuseStatus = (response: HttpClientResponse.HttpClientResponse, dialect: Dialect) =>
  Effect.gen(function* () {
    const { headers, status } = response
    if (status >= 300 && status < 400) {
      return yield* refuse("malformed", `it redirects (${status}), which is not followed; name its final address`)
    }
    const special = dialect.statuses?.[status]
    let reason = special?.reason ?? meaningOf(status)
    const candidates = refined[status]
    if (candidates !== undefined && special?.why === undefined && /json/i.test(headers["content-type"] ?? "")) {
      const words = yield* boundedText(response, maxExplanationBytes).pipe(
        Effect.map((text) => explanation(Option.getOrUndefined(parseJson(text)))),
        Effect.timeout(explanationTimeout),
        Effect.orElseSucceed(() => "")
      )
      const told = reasonFor(words)
      if (told !== undefined && candidates.includes(told)) reason = told
    }
    const retryAfterMs =
      retryAfterOf(headers["retry-after"], yield* Clock.currentTimeMillis) ?? dialect.retryAfterMs?.(headers, reason)
    const why = special?.why === undefined ? `it answered ${status}` : `${status}: ${special.why}`
    return yield* new Refusal({ reason, message: why, retryAfterMs })
  })

/** The system's word for it, such as ECONNREFUSED; the rest of the error names addresses and may hold secrets. */
const codeOf = ({ reason }: HttpClientError.HttpClientError): string => {
  const cause: unknown = "cause" in reason ? reason.cause : undefined
  return Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : reason._tag
}

/** Where a request goes: not its whole address, which holds the query. */
const describeRequest = (span: Tracer.Span, { method, url }: HttpClientRequest.HttpClientRequest): void => {
  const { hostname, port, protocol } = new URL(url)
  span.attribute("http.request.method", method)
  span.attribute("server.address", hostname)
  span.attribute("server.port", Number(port) || (protocol === "https:" ? 443 : 80))
}

/** Trace Context, so that an engine of the operator's own shows up in the same trace; and nothing else about the caller. */
const traceparent = (span: Tracer.Span | undefined): Readonly<Record<string, string>> =>
  span === undefined ? {} : { traceparent: traceContext(span) }

/** Asks an upstream and answers the JSON it gives. */
export type Ask = (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<unknown, Refusal>

/**
 * Calls to one upstream, whose data is hostile: bounded in size as it arrives and when decompressed, refused unless it
 * is JSON. Redirects are not followed, because they would carry the credentials elsewhere. Whatever ends a call closes
 * its connection, unless the answer was read to its end.
 */
export const make = (upstream: {
  readonly gate: Gate
  /** Names of headers whose values are secrets. Secrets in the query are `Redacted` values of its parameters. */
  readonly secretHeaders: ReadonlyArray<string>
  readonly dialect?: Dialect
}): Effect.Effect<Ask, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (client) => {
    const scoped = HttpClient.withScope(client)
    const dialect = upstream.dialect ?? {}
    const call = (request: HttpClientRequest.HttpClientRequest) =>
      Effect.gen(function* () {
        const span = yield* currentSpan
        if (span?.sampled === true) describeRequest(span, request)
        const response = yield* scoped.execute(
          request.pipe(
            HttpClientRequest.acceptJson,
            HttpClientRequest.setHeader("accept-encoding", "gzip, br"),
            HttpClientRequest.setHeaders(traceparent(span))
          )
        )
        if (span?.sampled === true) span.attribute("http.response.status_code", response.status)
        if (response.status < 200 || response.status > 299) return yield* refuseStatus(response, dialect)
        if (/html/i.test(response.headers["content-type"] ?? "")) {
          return yield* refuse("malformed", "it answered HTML: is its address right?")
        }
        const json = parseJson(yield* boundedText(response, maxBodyBytes))
        return Option.isSome(json) ? json.value : yield* refuse("malformed", "its answer is no JSON")
      }).pipe(
        Effect.scoped,
        Effect.catchTag("HttpClientError", (error) =>
          refuse("unreachable", `the connection failed (${codeOf(error)})`)
        ),
        // Whoever shows the request must not show these.
        Effect.updateService(Headers.CurrentRedactedNames, (names) => [...names, ...upstream.secretHeaders])
      )
    return (request) => upstream.gate(call(request))
  })
