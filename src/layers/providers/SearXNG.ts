import { Clock, Effect, Option, Record, Redacted, Result, Schema, Stream } from "effect"
import { FetchHttpClient, Headers, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import type { UpstreamRow } from "../../domain/Organic.ts"
import type { SearchRequest } from "../../domain/SearchRequest.ts"
import { cutCodePoints } from "../../domain/text.ts"
import { Refusal, type RefusalReason } from "../../services/Provider.ts"
import { define, type Engines, SecretHeaders, WebAddress } from "./ProviderType.ts"

const pageSizeRule = { message: "must be a whole number from 5 to 100" }

const Options = Schema.Struct({
  /** Address of the instance, without `/search`. */
  url: WebAddress,
  /** Sent with every request, for an instance behind a proxy that asks for credentials. */
  headers: Schema.optionalKey(SecretHeaders),
  /** Rows the engines give on a page; the API can neither set nor tell it. */
  pageSize: Schema.optionalKey(
    Schema.Number.annotate(pageSizeRule).check(
      Schema.isInt(pageSizeRule),
      Schema.isBetween({ minimum: 5, maximum: 100 }, pageSizeRule)
    )
  )
})

const defaultPageSize = 10

/** Pages of one search asked for at once, besides the first. */
const maxConcurrentPages = 4

/** The largest answer that is read. A page has some 10 kB; `/config` of an instance with all engines has the most. */
const maxBodyBytes = 2 * 1024 * 1024

/** How long it is believed which engines the instance has. */
const enginesTtl = "10 minutes"

const Row = Schema.Struct({
  url: Schema.String,
  title: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.String)),
  engine: Schema.optionalKey(Schema.NullOr(Schema.String)),
  engines: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String)))
})

const Answer = Schema.Struct({
  results: Schema.Array(Schema.Unknown),
  unresponsive_engines: Schema.optionalKey(Schema.Array(Schema.Unknown))
})

const Unresponsive = Schema.TupleWithRest(Schema.Tuple([Schema.String, Schema.String]), [Schema.Unknown])

const Config = Schema.Struct({ engines: Schema.Array(Schema.Struct({ name: Schema.String })) })

const decodeAnswer = Schema.decodeUnknownOption(Schema.fromJsonString(Answer))
const decodeConfig = Schema.decodeUnknownOption(Schema.fromJsonString(Config))
const decodeRow = Schema.decodeUnknownOption(Row)
const decodeUnresponsive = Schema.decodeUnknownOption(Unresponsive)

const refuse = (reason: RefusalReason, message: string) => Effect.fail(new Refusal({ reason, message }))

/** Where a part begins with the sign of a command. SearXNG cuts at what is whitespace in Python, as U+001C to U+001F are. */
const commandSign = /(?<![^\s\p{Cc}])(?=[!:<?])/gu

/**
 * The query as SearXNG must be sent it to search for exactly that text. SearXNG reads a part that begins with `!`, `:`,
 * `<` or, in older versions, `?` as a command, and takes it out of the text: `!go` picks another engine, `!!` leaves for
 * another site, `:de` another language, `<3` another timeout. It knows no escape, so such a part gets an apostrophe in
 * front. Engines ignore an apostrophe that belongs to no word, also inside a quoted phrase, where quotation marks
 * around the part would end the phrase; SearXNG's own DuckDuckGo engine guards bangs in the same way.
 */
export const literalQuery = (query: string): string => query.replace(commandSign, "'")

/** `en-us` as SearXNG writes it. */
const language = (locale: string): string => `${locale.slice(0, 2)}-${locale.slice(3).toUpperCase()}`

const safesearch = { off: "0", moderate: "1", strict: "2" } as const

/** The upstream pages that hold rows `(page - 1) * num + 1` to `page * num`, and how many rows of the first precede them. */
export const upstreamPages = (
  { num, page }: Pick<SearchRequest, "num" | "page">,
  pageSize: number
): { readonly first: number; readonly last: number; readonly skip: number } => {
  const before = (page - 1) * num
  const first = Math.floor(before / pageSize) + 1
  return { first, last: Math.ceil((page * num) / pageSize), skip: before - (first - 1) * pageSize }
}

/**
 * What SearXNG's word for a failed engine means. It is asked for in English; what is not recognised counts as
 * unreachable, on which the next provider is tried just as well.
 */
const engineFailure = (text: string): RefusalReason => {
  if (/captcha|access denied|suspended/i.test(text)) return "blocked"
  if (/too many requests/i.test(text)) return "rate_limited"
  if (/time ?out/i.test(text)) return "timeout"
  return "unreachable"
}

/**
 * Remembers that an engine failed. SearXNG says so when it leaves out an engine that it has suspended after a failure;
 * searx, from which it stems, says nothing and answers an empty page, which must not pass for "no results" (R14). So
 * after a failure an empty page is not believed until the engine gives rows again or the suspension must have ended.
 */
const makeSuspension = () => {
  let last: { readonly refusal: Refusal; readonly until: number } | undefined
  return {
    failed: (refusal: Refusal) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const ms = suspensionMs[refusal.reason]
        if (ms !== undefined) last = { refusal, until: now + ms }
      }),
    believe: (rows: ReadonlyArray<UpstreamRow>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (rows.length > 0 || (last !== undefined && last.until <= now)) last = undefined
        return last === undefined ? Effect.succeed(rows) : Effect.fail(last.refusal)
      })
  }
}

/** The longest that an engine is suspended after a failure, by default. */
const suspensionMs: { readonly [R in RefusalReason]?: number } = {
  blocked: 24 * 3_600_000,
  rate_limited: 3_600_000,
  timeout: 120_000,
  unreachable: 120_000
}

/** Milliseconds of a Retry-After header in either of its forms (RFC 9110, 10.2.3). */
const retryAfterMs = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** Why an answer that is not 200 gives no rows. The body is never quoted: it may be a whole page of a proxy's. */
const refuseStatus = ({ headers, status }: HttpClientResponse.HttpClientResponse) =>
  Effect.gen(function* () {
    if (status === 429) {
      const after = retryAfterMs(headers["retry-after"], yield* Clock.currentTimeMillis)
      const message = "429: its limiter allows 4 JSON requests an hour; add this address to its pass_ip"
      return yield* new Refusal({ reason: "rate_limited", message, retryAfterMs: after })
    }
    if (status >= 500) return yield* refuse("unreachable", `it answered ${status}`)
    if (status === 401) return yield* refuse("unauthorized", "401: its headers in the provider file are not accepted")
    if (status === 403) return yield* refuse("malformed", "403: add json to search.formats in its settings.yml")
    if (status >= 300 && status < 400) {
      return yield* refuse("malformed", `it redirects (${status}), which is not followed; name its final address`)
    }
    return yield* refuse("malformed", `it answered ${status}`)
  })

const tooLarge = new Refusal({ reason: "malformed", message: `its answer is larger than ${maxBodyBytes} bytes` })

/** The body as text, read no further than is allowed. */
const boundedText = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.gen(function* () {
    const chunks: Array<Uint8Array> = []
    let bytes = 0
    yield* Stream.runForEach(response.stream, (chunk) => {
      bytes += chunk.length
      chunks.push(chunk)
      return bytes > maxBodyBytes ? Effect.fail(tooLarge) : Effect.void
    })
    return Buffer.concat(chunks).toString("utf8")
  })

/** Rows of one upstream page; fails when there are none for another reason than that nothing was found (R14). */
const readPage = (text: string, engine: string | undefined, hasEngine: Effect.Effect<boolean>) =>
  Effect.gen(function* () {
    const answer = Option.getOrUndefined(decodeAnswer(text))
    if (answer === undefined) return yield* refuse("malformed", "its answer is not the documented JSON")
    const rows = answer.results.flatMap((row) => Option.toArray(decodeRow(row)))
    const isOurs = (row: typeof Row.Type) =>
      engine === undefined || row.engine === engine || row.engines?.includes(engine) === true
    const ours = rows.filter(isOurs)
    if (ours.length > 0) {
      return ours.map((row): UpstreamRow => ({ url: row.url, title: row.title, snippet: row.content ?? "" }))
    }
    const failed = (answer.unresponsive_engines ?? []).flatMap((entry) => Option.toArray(decodeUnresponsive(entry)))
    const failure = failed.find(([name]) => engine === undefined || name === engine)
    if (failure !== undefined) {
      const [name, why] = failure
      return yield* refuse(engineFailure(why), `its engine ${name} gave nothing: ${cutCodePoints(why, 80)}`)
    }
    if (rows.length === 0 && answer.results.length > 0) {
      return yield* refuse("malformed", "its rows are not as documented")
    }
    // It answers an engine it does not have by those of its default categories, and a private one by nothing at all.
    if (rows.length > 0 || failed.length > 0 || !(yield* hasEngine)) {
      return yield* refuse("malformed", `it has no engine named ${engine}, or a private one`)
    }
    return []
  })

/**
 * A SearXNG instance: the function gives a provider for one of its engines. Redirects are not followed, because they
 * would carry the instance's credentials elsewhere.
 */
export const make = (
  instance: string,
  options: typeof Options.Type
): Effect.Effect<Engines, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const base = options.url.replace(/\/+$/, "")
    const pageSize = options.pageSize ?? defaultPageSize
    const headers = Record.map(options.headers ?? {}, (value) => Redacted.value(value))

    const fetchText = (path: string, urlParams: Readonly<Record<string, string | Redacted.Redacted>>) =>
      Effect.gen(function* () {
        const response = yield* client.execute(
          HttpClientRequest.get(base + path, { urlParams, acceptJson: true }).pipe(
            // The language of the words for failed engines.
            HttpClientRequest.setHeader("accept-language", "en"),
            HttpClientRequest.setHeaders(headers)
          )
        )
        if (response.status !== 200) return yield* refuseStatus(response)
        if (/html/i.test(response.headers["content-type"] ?? "")) {
          return yield* refuse("malformed", "it answered HTML: is its address right?")
        }
        return yield* boundedText(response)
      }).pipe(
        Effect.catchTag("HttpClientError", (error) =>
          refuse("unreachable", `the connection failed (${error.reason._tag})`)
        ),
        // Only fetch follows redirects unless told otherwise.
        Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
        // Spans show all headers but those named here.
        Effect.updateService(Headers.CurrentRedactedNames, (names) => [...names, ...Object.keys(headers)])
      )

    /** Names of the instance's engines; undefined when it does not tell, as behind a proxy that hides `/config`. */
    const engines = yield* fetchText("/config", {}).pipe(
      Effect.map((text) =>
        Option.getOrUndefined(Option.map(decodeConfig(text), ({ engines }) => new Set(engines.map(({ name }) => name))))
      ),
      Effect.orElseSucceed(() => undefined),
      Effect.cachedWithTTL(enginesTtl)
    )

    return (engine) => {
      const name = engine === undefined ? instance : `${instance}/${engine}`
      const suspension = makeSuspension()
      const hasEngine =
        engine === undefined
          ? Effect.succeed(true)
          : Effect.map(engines, (names) => names === undefined || names.has(engine))

      const fetchPage = (request: SearchRequest, page: number) =>
        fetchText("/search", {
          // Redacted, so that spans and errors do not show what people search for.
          q: Redacted.make(literalQuery(request.query)),
          format: "json",
          ...(engine === undefined ? {} : { engines: engine }),
          pageno: String(page),
          language: language(request.locale),
          safesearch: safesearch[request.safe]
        }).pipe(
          Effect.flatMap((text) => Effect.tapError(readPage(text, engine, hasEngine), suspension.failed)),
          Effect.flatMap(suspension.believe)
        )

      /** The rows of the pages after the first, up to one that fails. */
      const fetchFollowing = Effect.fnUntraced(function* (request: SearchRequest, pages: ReadonlyArray<number>) {
        const answers = yield* Effect.forEach(pages, (page) => Effect.result(fetchPage(request, page)), {
          concurrency: maxConcurrentPages
        })
        const rows: Array<UpstreamRow> = []
        for (const [index, answer] of answers.entries()) {
          if (Result.isFailure(answer)) {
            const { message, reason } = answer.failure
            yield* Effect.logWarning(`Provider ${name} refused page ${pages[index]}: ${reason} (${message})`)
            break
          }
          rows.push(...answer.success)
        }
        return rows
      })

      return {
        name,
        // The pages the rows lie on are fetched side by side (R13). The first must succeed. A later one that fails ends
        // the rows before it, as if the upstream had no more: what was found is an answer, and fewer is no error.
        search: Effect.fnUntraced(function* (request) {
          const { first, last, skip } = upstreamPages(request, pageSize)
          const following = Array.from({ length: last - first }, (_, index) => first + 1 + index)
          const [rows, more] = yield* Effect.all([fetchPage(request, first), fetchFollowing(request, following)], {
            concurrency: 2
          })
          return [...rows.slice(skip), ...more]
        })
      }
    }
  })

export const type = define({ options: Options, hasEngines: true, make })
