import { Clock, Effect, Option, type Tracer } from "effect"
import { Refusal, type RefusalReason } from "../../domain/providers/Refusal.ts"
import { type RefusalRule, refusalFor } from "../../domain/providers/RefusalRule.ts"
import type { Turn } from "../../services/providers/Turn.ts"
import { currentSpan, traceContext } from "../../services/telemetry/Tracing.ts"
import type { Gate } from "./Gate.ts"
import { type BodyError, type Reply, UpstreamClient } from "./UpstreamClient.ts"
import type { UpstreamRequest } from "./UpstreamRequest.ts"

/** Both compressed and decompressed. */
const maxBodyBytes = 2 * 1024 * 1024

/** Twice the largest page of any upstream. */
export const maxRows = 200

const maxWordsUnits = 2_000

/** Error bodies are a few hundred bytes, and reading one must not delay the next attempt. */
const maxExplanationBytes = 16 * 1024
const explanationTimeout = "2 seconds"

/** The message continues "it …" or names a part of the response. */
export const refuse = (reason: RefusalReason, message: string) => Effect.fail(new Refusal({ reason, message }))

/** For a response that has an error in place of rows. */
export const errorInBody = (status: number): string => `it responded ${status} with an error in the body`

const textOf = (reply: Reply, limit: number): Effect.Effect<string, BodyError> =>
  Effect.map(reply.body(limit), (body) => body.toString("utf8"))

/** Some servers send a byte order mark, which JSON.parse refuses. */
const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text.replace(/^\ufeff/, "")))

/** Fields in which upstreams explain an error. Others, such as the limits of a plan, would be misread. */
const explaining = ["error", "errors", "message", "detail", "code", "msg", "tag", "error_description", "status"]

/** Pass it only to `reasonFor`, because it may repeat the API key. */
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

/** Limited in depth, because upstreams are untrusted. */
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

/** Classifies an upstream's error text. Undefined if it has none of the known words. */
export const reasonFor = (words: string): RefusalReason | undefined => {
  const bounded = words.slice(0, maxWordsUnits)
  return meanings.find(([pattern]) => pattern.test(bounded))?.[1]
}

/** Statuses with several meanings, and the reasons that the error text may select. */
const refined: { readonly [status: number]: ReadonlyArray<RefusalReason> | undefined } = {
  400: ["quota", "unauthorized", "rate_limited"],
  403: ["quota", "unauthorized", "rate_limited", "blocked"],
  422: ["quota", "unauthorized", "rate_limited"],
  429: ["quota", "blocked"]
}

/** Says that the search itself is refused. It depends on the caller, so it must not count against the provider. */
const ofRequest: ReadonlySet<number> = new Set([400, 413, 414, 422, 431])

const meaningOf = (status: number): RefusalReason => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 402) return "quota"
  if (status === 429) return "rate_limited"
  if (status === 408 || status === 504) return "timeout"
  return status >= 500 ? "unreachable" : "malformed"
}

const httpDate = /^[a-z]{3,9},? \S/i

/**
 * Milliseconds of a Retry-After header in either form (RFC 9110, 10.2.3). Fractions are rounded up to whole seconds. A
 * value that is neither, or that has passed, says nothing, so that the usual cool-down with its growth applies.
 */
export const retryAfterOf = (header: string | undefined, now: number): number | undefined => {
  const value = header?.trim() ?? ""
  if (/^\d+(\.\d*)?$/.test(value)) return Math.ceil(Number(value)) * 1000
  const ms = httpDate.test(value) ? Date.parse(value) - now : Number.NaN
  return ms > 0 ? ms : undefined
}

export interface Dialect {
  readonly statuses?: {
    readonly [status: number]: { readonly reason: RefusalReason; readonly why?: string } | undefined
  }
  /** The documented codes in the body of an error, which tell more than its status. */
  readonly codes?: { readonly [code: string]: RefusalReason | undefined }
  /** Reasons that the text of a response decides. They have precedence. */
  readonly rules?: ReadonlyArray<RefusalRule>
  /** Time until the upstream accepts calls again, if it does not send Retry-After. */
  readonly retryAfterMs?: (header: Reply["header"], reason: RefusalReason) => number | undefined
}

const word = /[\p{L}\p{N}_]+/gu

const stringsIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/** The words that the request itself sent, of which an error may quote some. */
const ownWords = ({ body, parameters }: UpstreamRequest): ReadonlySet<string> => {
  const sent = [...new URLSearchParams(parameters).values(), ...stringsIn(Option.getOrUndefined(parseJson(body ?? "")))]
  return new Set(sent.flatMap((text) => text.toLowerCase().match(word) ?? []))
}

const reasonInBody = (
  words: string,
  status: number,
  request: UpstreamRequest,
  { codes = {} }: Dialect
): RefusalReason | undefined => {
  const tokens = words.match(word) ?? []
  const code = tokens.find((token) => Object.hasOwn(codes, token))
  if (code !== undefined) return codes[code]
  // An error of the request may quote the query, and a search for "api key" is not a rejected key.
  const own = ofRequest.has(status) ? ownWords(request) : new Set<string>()
  const inferred = reasonFor(tokens.filter((token) => !own.has(token.toLowerCase())).join(" "))
  return inferred !== undefined && refined[status]?.includes(inferred) === true ? inferred : undefined
}

const errorJson = (reply: Reply): Effect.Effect<unknown> =>
  textOf(reply, maxExplanationBytes).pipe(
    Effect.map((text) => Option.getOrUndefined(parseJson(text))),
    Effect.timeout(explanationTimeout),
    Effect.orElseSucceed(() => undefined)
  )

/** The body is never quoted: it may be a proxy's page, or repeat the API key. */
const refuseStatus = (reply: Reply, dialect: Dialect, request: UpstreamRequest) =>
  Effect.gen(function* () {
    const { header, status } = reply
    if (status >= 300 && status < 400) {
      return yield* refuse(
        "malformed",
        `it redirects (${status}), and redirects are not followed; set url to the final address`
      )
    }
    const special = dialect.statuses?.[status]
    const rules = dialect.rules?.filter((rule) => rule.status === status) ?? []
    const isRefined = special?.why === undefined && (refined[status] !== undefined || dialect.codes !== undefined)
    const isExplained = isRefined || rules.some(({ at }) => at !== undefined)
    const json = isExplained && /json/i.test(header("content-type") ?? "") ? yield* errorJson(reply) : undefined
    const inferred = isRefined ? reasonInBody(explanation(json), status, request, dialect) : undefined
    const ruled = refusalFor(rules, status, json)
    if (ruled === "nothing") return undefined
    const reason = ruled ?? inferred ?? special?.reason ?? meaningOf(status)
    const retryAfterMs =
      retryAfterOf(header("retry-after"), yield* Clock.currentTimeMillis) ?? dialect.retryAfterMs?.(header, reason)
    const why = special?.why === undefined ? `it responded ${status}` : `${status}: ${special.why}`
    // A documented code says so of any status, such as 403 for a query that the provider does not answer.
    const isOfSearch = reason === "malformed" && (ofRequest.has(status) || (ruled ?? inferred) === reason)
    return yield* new Refusal({ reason, message: why, retryAfterMs, isOfSearch })
  })

/** Only the host, because the full URL contains the query. */
const describeRequest = (span: Tracer.Span, { method, url }: UpstreamRequest): void => {
  const { hostname, port, protocol } = new URL(url)
  span.attribute("http.request.method", method)
  span.attribute("server.address", hostname)
  span.attribute("server.port", Number(port) || (protocol === "https:" ? 443 : 80))
}

/** Lets an operator's own engine join the trace. Nothing else about the caller is sent. */
const traceparent = (span: Tracer.Span | undefined): Readonly<Record<string, string>> =>
  span === undefined ? {} : { traceparent: traceContext(span) }

const accept = { accept: "application/json" }
const encodings = { "accept-encoding": "gzip, br" }

const refusalOf = (error: Refusal | BodyError): Refusal => {
  if (error._tag === "Refusal") return error
  if (error._tag === "BodyTooLarge")
    return new Refusal({ reason: "malformed", message: `its response is larger than ${maxBodyBytes} bytes` })
  if (error._tag === "BodyUndecodable")
    return new Refusal({ reason: "malformed", message: `its response ${error.message}` })
  return new Refusal({ reason: "unreachable", message: `the connection failed (${error.code})` })
}

/** Returns the JSON of the response, or undefined if a rule says that the search found nothing. */
export type Ask = (request: UpstreamRequest, turn: Turn) => Effect.Effect<unknown, Refusal>

/** Upstreams are hostile: sizes are limited, only JSON is read, and a redirect would take credentials elsewhere. */
export const make = (upstream: {
  readonly gate: Gate
  readonly dialect?: Dialect
}): Effect.Effect<Ask, never, UpstreamClient> =>
  Effect.map(UpstreamClient, (client) => {
    const dialect = upstream.dialect ?? {}
    const read = (reply: Reply, request: UpstreamRequest): Effect.Effect<unknown, Refusal | BodyError> => {
      if (reply.status < 200 || reply.status > 299) return refuseStatus(reply, dialect, request)
      if (/html/i.test(reply.header("content-type") ?? "")) {
        return refuse("malformed", "it responded with HTML; check its url")
      }
      return Effect.flatMap(textOf(reply, maxBodyBytes), (text) => {
        const json = parseJson(text)
        if (Option.isNone(json)) return refuse("malformed", "its response is not JSON")
        const reason = refusalFor(dialect.rules ?? [], reply.status, json.value)
        if (reason === "nothing") return Effect.succeed(undefined)
        return reason === undefined ? Effect.succeed(json.value) : refuse(reason, errorInBody(reply.status))
      })
    }
    const call = (request: UpstreamRequest) =>
      Effect.flatMap(currentSpan, (span) => {
        if (span?.sampled === true) describeRequest(span, request)
        const headers = { ...accept, ...request.headers, ...encodings, ...traceparent(span) }
        // Searches and reads change nothing, so that they can be repeated.
        return client.exchange(
          { ...request, headers },
          (reply) => {
            if (span?.sampled === true) span.attribute("http.response.status_code", reply.status)
            return read(reply, request)
          },
          { mayRepeat: true }
        )
      }).pipe(Effect.mapError(refusalOf))
    return (request, turn) => upstream.gate.run(call(request), turn)
  })
