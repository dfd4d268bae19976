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

/** The addresses of Polar's own servers. */
export const servers = {
  production: "https://api.polar.sh",
  sandbox: "https://sandbox-api.polar.sh"
} as const

/** The version of Polar's API that the schemas of this folder are written for. Polar answers 404 to one it does not know. */
const polarVersion = "2026-10"

/** The time for one call. A person waits for it on the pages of billing. */
const defaultCallTimeout = Duration.seconds(5)

/** The largest answer that is read. A page of 100 orders has less than 2 MiB. */
const maxAnswerBytes = 8 * 1024 * 1024

/** An answer with everything around it. */
export const maxReceivedBytes = 16 * 1024 * 1024

/** Objects that are asked for in one page, the most that Polar gives. */
const pageSize = 100

/** Pages of one list that are read: 100,000 objects. */
const maxPages = 1_000

/** The longest wait that Polar may ask of a sweep, and how often in one page. A person is never kept waiting for it. */
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
  /** The JSON of the body; undefined where it has none. */
  readonly json: unknown
}

/** A response other than 2xx that the caller handles. `name` is Polar's error name, such as PaymentFailed. */
export class PolarError extends Data.TaggedError("PolarError")<{
  readonly status: number
  readonly name: string
}> {}

const unavailable = (reason: string, retryAfter?: Duration.Duration) => new ProviderUnavailable({ reason, retryAfter })

/** An error's reason without its address and headers, which hold customers' data and the token. */
const transportFault = (error: HttpClientError.HttpClientError) =>
  unavailable(`Polar could not be reached (${error.reason._tag})`)

class AnswerTooLarge extends Data.TaggedError("AnswerTooLarge") {}

/** Reads the body to its end. One that is left unread keeps its connection. */
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

/** The wait that Polar asks for. It sends whole seconds. */
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

/** Runs calls without Effect's own spans: those show addresses, and Polar's contain customers' email addresses. */
const untraced = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  call.pipe(
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
    Effect.provideService(HttpClient.TracerPropagationEnabled, false)
  )

export interface PolarClientOptions {
  readonly accessToken: Redacted.Redacted
  /** Without a slash at its end, as `servers` has them. */
  readonly baseUrl: string
  readonly callTimeout?: Duration.Duration | undefined
}

/** Polar's HTTP API: what goes wrong below the meaning of an answer is `ProviderUnavailable`, and never a defect. */
export const make = (
  http: HttpClient.HttpClient,
  { accessToken, baseUrl, callTimeout = defaultCallTimeout }: PolarClientOptions
) => {
  /** Sends one call. Nothing is sent twice: Polar has no idempotency keys. */
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
        AnswerTooLarge: () => Effect.fail(unavailable(`Polar's answer is larger than ${maxAnswerBytes} bytes`))
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

  /** Makes a call and reads its answer. */
  const call = <A>(schema: Schema.Codec<A, unknown>, request: PolarCall) =>
    Effect.flatMap(accepted(request), (json) => read(schema, json))

  /** A call whose every answer but a 2xx is a fault. */
  const demand = <A>(schema: Schema.Codec<A, unknown>, request: PolarCall): Effect.Effect<A, ProviderUnavailable> =>
    call(schema, request).pipe(Effect.catchTag("PolarError", asUnavailable))

  /**
   * All objects of a list, in the order in which Polar gives them, as far as `goesOn` holds for the last one of a page.
   * An object that moves to the next page while the list is read comes once.
   */
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

/** Waits where Polar asks for it, as it does after 500 calls in a minute. For sweeps: nobody waits for them. */
const patiently = <A>(request: Effect.Effect<A, ProviderUnavailable>): Effect.Effect<A, ProviderUnavailable> =>
  Effect.retry(request, {
    while: ({ retryAfter }) => retryAfter !== undefined && Duration.isLessThanOrEqualTo(retryAfter, maxPatience),
    times: maxWaits,
    schedule: Schedule.identity<ProviderUnavailable>().pipe(
      Schedule.addDelay(({ output: { retryAfter } }) => Effect.succeed(retryAfter ?? Duration.zero))
    )
  })

const asUnavailable = ({ name, status }: PolarError) =>
  Effect.fail(unavailable(`Polar refused with ${status}${name === "" ? "" : ` ${name}`}`))

/** The answer as this schema has it. The reason of a failure names the fields, and never what they hold. */
const read = <A>(schema: Schema.Codec<A, unknown>, json: unknown): Effect.Effect<A, ProviderUnavailable> =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(json), () =>
    unavailable("Polar's answer has a form that is not understood")
  )
