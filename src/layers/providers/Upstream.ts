import { promisify } from "node:util"
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from "node:zlib"
import { Clock, Effect, Option, Predicate, type Tracer } from "effect"
import { Refusal, type RefusalReason } from "../../domain/Refusal.ts"
import { currentSpan, traceContext } from "../../services/Tracing.ts"
import type { Gate } from "./Gate.ts"
import { type BodyTooLarge, type ConnectionFailed, type Reply, UpstreamClient } from "./UpstreamClient.ts"
import type { UpstreamRequest } from "./UpstreamRequest.ts"

/** The largest answer that is read, as it arrives and once it is decompressed. */
const maxBodyBytes = 2 * 1024 * 1024

/** Rows that are read of one answer: twice the largest page of any upstream. */
export const maxRows = 200

/** Words of an upstream beyond these UTF-16 units are not read for their meaning. */
const maxWordsUnits = 2_000

/**
 * The largest explanation of a refusal that is read: it has a few hundred bytes, and must not delay the next attempt.
 */
const maxExplanationBytes = 16 * 1024
const explanationTimeout = "2 seconds"

/** Refuses; the message continues "it …" or names a part of what the upstream gave. */
export const refuse = (reason: RefusalReason, message: string) => Effect.fail(new Refusal({ reason, message }))

const tooLarge = (limit: number) =>
  new Refusal({ reason: "malformed", message: `its answer is larger than ${limit} bytes` })

type Decompress = (body: Buffer, options: ZlibOptions) => Promise<Buffer>

const decompressors: { readonly [encoding: string]: Decompress | undefined } = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress)
}

const decompressed = (encoding: string, body: Buffer, limit: number): Effect.Effect<Buffer, Refusal> => {
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

/** The body as text. */
const textOf = (reply: Reply, limit: number): Effect.Effect<string, Refusal | ConnectionFailed | BodyTooLarge> =>
  Effect.flatMap(reply.body(limit), (body) => {
    const encoding = (reply.header("content-encoding") ?? "").trim().toLowerCase()
    if (encoding === "" || encoding === "identity") return Effect.succeed(body.toString("utf8"))
    return Effect.map(decompressed(encoding, body, limit), (text) => text.toString("utf8"))
  })

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Fields in which upstreams explain a fault. Others, such as the figures of a plan, would be misread. */
const explaining = ["error", "errors", "message", "detail", "code", "msg", "tag", "error_description", "status"]

/** The explanation in an answer. It goes to `reasonFor` alone, because it may repeat the key that was sent. */
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

/**
 * The text of any JSON, names included, as far as `reasonFor` may read it. The depth is limited because upstreams may
 * send any.
 */
export const wordsOf = (json: unknown, depth = 0): string => {
  if (typeof json !== "object" || json === null) return String(json).slice(0, 500)
  if (depth > 3) return ""
  return Object.entries(json)
    .slice(0, 5)
    .map(([name, value]) => `${name.slice(0, 100)} ${wordsOf(value, depth + 1)}`)
    .join(" ")
}

const meanings: ReadonlyArray<readonly [RegExp, RefusalReason]> = [
  [/captcha|blocked/i, "blocked"],
  [/rate.?limit|too many requests|throttl/i, "rate_limited"],
  [/quota|credit|balance|budget|out of searches|run out|(daily|monthly|usage|plan|spend\w*) limit/i, "quota"],
  [/api.?key|unauthori[sz]ed|token|authenticat|credential/i, "unauthorized"],
  [/time.?out|timed out/i, "timeout"]
]

/** The reason that an upstream's explanation means; undefined when it has none of the known words. */
export const reasonFor = (words: string): RefusalReason | undefined => {
  const bounded = words.slice(0, maxWordsUnits)
  return meanings.find(([pattern]) => pattern.test(bounded))?.[1]
}

/** Statuses with several meanings, and the reasons that the explanation may tell apart. */
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

/** The ways in which an upstream differs from others. */
export interface Dialect {
  /** Statuses that have another meaning here, and the reason of each. */
  readonly statuses?: {
    readonly [status: number]: { readonly reason: RefusalReason; readonly why?: string } | undefined
  }
  /** The time until it takes calls again, where it does not use Retry-After. */
  readonly retryAfterMs?: (header: Reply["header"], reason: RefusalReason) => number | undefined
}

/**
 * Refuses an answer that is not 2xx. Its body is read for the reason and never quoted: it may be the page of a proxy,
 * or repeat the key.
 */
const refuseStatus = (reply: Reply, dialect: Dialect) =>
  Effect.gen(function* () {
    const { header, status } = reply
    if (status >= 300 && status < 400) {
      return yield* refuse("malformed", `it redirects (${status}), which is not followed; name its final address`)
    }
    const special = dialect.statuses?.[status]
    let reason = special?.reason ?? meaningOf(status)
    const candidates = refined[status]
    if (candidates !== undefined && special?.why === undefined && /json/i.test(header("content-type") ?? "")) {
      const words = yield* textOf(reply, maxExplanationBytes).pipe(
        Effect.map((text) => explanation(Option.getOrUndefined(parseJson(text)))),
        Effect.timeout(explanationTimeout),
        Effect.orElseSucceed(() => "")
      )
      const told = reasonFor(words)
      if (told !== undefined && candidates.includes(told)) reason = told
    }
    const retryAfterMs =
      retryAfterOf(header("retry-after"), yield* Clock.currentTimeMillis) ?? dialect.retryAfterMs?.(header, reason)
    const why = special?.why === undefined ? `it answered ${status}` : `${status}: ${special.why}`
    return yield* new Refusal({ reason, message: why, retryAfterMs })
  })

/** Sets the host of a request on its span, and not the whole address, because that holds the query. */
const describeRequest = (span: Tracer.Span, { method, url }: UpstreamRequest): void => {
  const { hostname, port, protocol } = new URL(url)
  span.attribute("http.request.method", method)
  span.attribute("server.address", hostname)
  span.attribute("server.port", Number(port) || (protocol === "https:" ? 443 : 80))
}

/** Trace Context, so that an engine of the operator's own shows up in the same trace; and nothing else about the caller. */
const traceparent = (span: Tracer.Span | undefined): Readonly<Record<string, string>> =>
  span === undefined ? {} : { traceparent: traceContext(span) }

const accepting = { accept: "application/json", "accept-encoding": "gzip, br" }

/** The refusal for an error that ended the call. */
const refusalOf = (error: Refusal | ConnectionFailed | BodyTooLarge): Refusal => {
  if (error._tag === "Refusal") return error
  if (error._tag === "BodyTooLarge") return tooLarge(maxBodyBytes)
  return new Refusal({ reason: "unreachable", message: `the connection failed (${error.code})` })
}

/** Calls an upstream and returns the JSON of its answer. The call may wait `maxQueueMs` for its turn. */
export type Ask = (request: UpstreamRequest, maxQueueMs: number) => Effect.Effect<unknown, Refusal>

/**
 * Calls to one upstream, whose data is hostile: bounded in size as it arrives and when decompressed, refused unless it
 * is JSON. Redirects are not followed, because they would carry the credentials elsewhere. Whatever ends a call closes
 * its connection, unless the answer was read to its end.
 */
export const make = (upstream: {
  readonly gate: Gate
  readonly dialect?: Dialect
}): Effect.Effect<Ask, never, UpstreamClient> =>
  Effect.map(UpstreamClient, (client) => {
    const dialect = upstream.dialect ?? {}
    const read = (reply: Reply): Effect.Effect<unknown, Refusal | ConnectionFailed | BodyTooLarge> => {
      if (reply.status < 200 || reply.status > 299) return refuseStatus(reply, dialect)
      if (/html/i.test(reply.header("content-type") ?? "")) {
        return refuse("malformed", "it answered HTML: is its address right?")
      }
      return Effect.flatMap(textOf(reply, maxBodyBytes), (text) => {
        const json = parseJson(text)
        return Option.isSome(json) ? Effect.succeed(json.value) : refuse("malformed", "its answer is no JSON")
      })
    }
    const call = (request: UpstreamRequest) =>
      Effect.flatMap(currentSpan, (span) => {
        if (span?.sampled === true) describeRequest(span, request)
        const headers = { ...request.headers, ...accepting, ...traceparent(span) }
        return client.exchange({ ...request, headers }, (reply) => {
          if (span?.sampled === true) span.attribute("http.response.status_code", reply.status)
          return read(reply)
        })
      }).pipe(Effect.mapError(refusalOf))
    return (request, maxQueueMs) => upstream.gate(call(request), maxQueueMs)
  })
