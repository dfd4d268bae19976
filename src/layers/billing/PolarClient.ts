import { Data, Duration, Effect, Option, Redacted, Schedule, Schema, Stream } from "effect"
import {
  HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse,
  type HttpMethod
} from "effect/http"
import { ProviderUnavailable } from "../../services/billing/PaymentProvider.ts"
import { Bytes } from "../outgoing/Bytes.ts"

export const servers = {
  production: "https://api.polar.sh",
  sandbox: "https://sandbox-api.polar.sh"
} as const

/** The version of Polar's API that these schemas support. Polar responds with 404 to an unknown version. */
const polarVersion = "2026-10"

const defaultCallTimeout = Duration.seconds(5)

/** A page of 100 orders is smaller than 2 MiB. */
const maxAnswerBytes = 8 * 1024 * 1024

export const maxReceivedBytes = 16 * 1024 * 1024

/** The maximum that Polar allows. */
const pageSize = 100

const maxPages = 1_000

/** Waits that Polar may request from a sweep. Users never wait for these. */
const maxPatience = Duration.minutes(2)
const maxWaits = 3

export interface PolarCall {
  readonly method: Extract<HttpMethod.HttpMethod, "GET" | "POST" | "PATCH" | "DELETE">
  readonly path: string
  readonly query?: ReadonlyArray<readonly [string, string]>
  readonly body?: object
}

export interface PolarAnswer {
  readonly status: number
  readonly json: unknown
}

export class PolarError extends Data.TaggedError("PolarError")<{
  readonly status: number
  readonly name: string
}> {}

const unavailable = (reason: string, retryAfter?: Duration.Duration) => new ProviderUnavailable({ reason, retryAfter })

export const unexpected = ({ name, status }: PolarError) => unavailable(`Polar responded with ${status} ${name}`.trim())

/** Omits the URL and headers, which contain customer data and the token. */
const transportFault = (error: HttpClientError.HttpClientError) =>
  unavailable(`Polar could not be reached (${error.reason._tag})`)

class AnswerTooLarge extends Data.TaggedError("AnswerTooLarge") {}

/** Reads the whole body: an unread body would keep its connection busy. */
const bodyOf = (response: HttpClientResponse.HttpClientResponse) =>
  response.stream.pipe(
    Stream.runFoldEffect(
      () => new Bytes(),
      (bytes, chunk) => {
        bytes.add(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
        return bytes.length > maxAnswerBytes ? Effect.fail(new AnswerTooLarge()) : Effect.succeed(bytes)
      }
    ),
    Effect.map(({ whole }) => whole.toString("utf8"))
  )

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const retryAfterOf = (header: string | undefined): Duration.Duration | undefined =>
  header !== undefined && /^\d{1,6}$/.test(header) ? Duration.seconds(Number(header)) : undefined

const answerOf = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const { status } = response
  const text = yield* bodyOf(response)
  if (status === 429 || status >= 500) {
    return yield* unavailable(`Polar answered ${status}`, retryAfterOf(response.headers["retry-after"]))
  }
  if (status >= 300 && status < 400) return yield* unavailable(`Polar redirects (${status}), which is not followed`)
  const json = text === "" ? Option.some(undefined) : parseJson(text)
  if (Option.isNone(json)) return yield* unavailable(`Polar responded with ${status} and a body that is not JSON`)
  return { status, json: json.value } satisfies PolarAnswer
})

const ErrorBody = Schema.Struct({ error: Schema.String })
const errorName = (json: unknown): string =>
  Option.match(Schema.decodeUnknownOption(ErrorBody)(json), {
    onNone: () => "",
    onSome: ({ error }) => error.slice(0, 64)
  })

const ListBody = Schema.Struct({
  items: Schema.Array(Schema.Unknown),
  pagination: Schema.Struct({ max_page: Schema.Int })
})

export type PolarClient = ReturnType<typeof make>

/** Disables Effect's own spans, because they record URLs, and Polar's contain customers' email addresses. */
const untraced = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  call.pipe(
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(HttpClient.TracerPropagationEnabled, false)
  )

export interface PolarClientOptions {
  readonly accessToken: Redacted.Redacted
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly callTimeout?: Duration.Duration | undefined
}

/** Transport errors and unreadable responses fail with `ProviderUnavailable` and are never defects. */
export const make = (
  http: HttpClient.HttpClient,
  { accessToken, baseUrl, callTimeout = defaultCallTimeout }: PolarClientOptions
) => {
  /** Never retries, because Polar has no idempotency keys. */
  const exchange = ({ body, method, path, query = [] }: PolarCall): Effect.Effect<PolarAnswer, ProviderUnavailable> => {
    const request = HttpClientRequest.make(method)(`${baseUrl}${path}`, {
      urlParams: query,
      headers: { "polar-version": polarVersion, authorization: `Bearer ${Redacted.value(accessToken)}` },
      acceptJson: true
    })
    return http.execute(body === undefined ? request : HttpClientRequest.bodyJsonUnsafe(request, body)).pipe(
      Effect.flatMap(answerOf),
      Effect.catchTags({
        HttpClientError: (error) => Effect.fail(transportFault(error)),
        AnswerTooLarge: () => Effect.fail(unavailable(`Polar's response is larger than ${maxAnswerBytes} bytes`))
      }),
      Effect.timeoutOrElse({
        duration: callTimeout,
        orElse: () => Effect.fail(unavailable(`Polar did not answer in ${Duration.format(callTimeout)}`))
      }),
      untraced
    )
  }

  const accepted = Effect.fnUntraced(function* (call: PolarCall) {
    const { json, status } = yield* exchange(call)
    if (status < 300) return json
    const name = errorName(json)
    if (status === 401) return yield* unavailable("Polar does not accept POLAR_ACCESS_TOKEN; see billing check")
    if (status === 403 && name === "insufficient_scope") {
      return yield* unavailable(`The token lacks the scope for ${call.method} ${call.path}; see billing check`)
    }
    return yield* new PolarError({ status, name })
  })

  const call = <A>(schema: Schema.Codec<A, unknown>, request: PolarCall) =>
    Effect.flatMap(accepted(request), (json) => read(schema, json))

  const demand = <A>(schema: Schema.Codec<A, unknown>, request: PolarCall): Effect.Effect<A, ProviderUnavailable> =>
    call(schema, request).pipe(Effect.catchTag("PolarError", (error) => Effect.fail(unexpected(error))))

  /** Reads pages while `goesOn` holds for a page's last object. An object that moves between pages is returned once. */
  const list = Effect.fnUntraced(function* <A extends { readonly id: string }>(
    schema: Schema.Codec<A, unknown>,
    { path, query = [] }: Pick<PolarCall, "path" | "query">,
    options: { readonly goesOn?: (last: A) => boolean; readonly isPatient?: boolean } = {}
  ) {
    const found = new Map<string, A>()
    for (let page = 1; page <= maxPages; page++) {
      const paging = [...query, ["limit", `${pageSize}`], ["page", `${page}`]] as const
      const request = demand(ListBody, { method: "GET", path, query: paging })
      const { items, pagination } = yield* options.isPatient === true ? patiently(request) : request
      const objects = yield* Effect.forEach(items, (item) => read(schema, item))
      for (const object of objects) found.set(object.id, object)
      const last = objects.at(-1)
      if (last === undefined || page >= pagination.max_page || options.goesOn?.(last) === false) {
        return [...found.values()]
      }
    }
    return yield* unavailable(`Polar has more than ${maxPages * pageSize} objects in ${path}`)
  })

  return { call, demand, exchange, list }
}

/** Waits when Polar requests it (500 calls per minute). For sweeps only, because no user waits for them. */
const patiently = <A>(request: Effect.Effect<A, ProviderUnavailable>): Effect.Effect<A, ProviderUnavailable> =>
  Effect.retry(request, {
    while: ({ retryAfter }) => retryAfter !== undefined && Duration.isLessThanOrEqualTo(retryAfter, maxPatience),
    times: maxWaits,
    schedule: Schedule.identity<ProviderUnavailable>().pipe(
      Schedule.addDelay(({ output: { retryAfter } }) => Effect.succeed(retryAfter ?? Duration.zero))
    )
  })

/** The error names the fields but not their values. */
const read = <A>(schema: Schema.Codec<A, unknown>, json: unknown): Effect.Effect<A, ProviderUnavailable> =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(json), () => unavailable("Polar's response has an unknown format"))
