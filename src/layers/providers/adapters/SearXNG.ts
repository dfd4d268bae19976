import { Clock, Effect, Option, Predicate, Record, Redacted, Schema } from "effect"
import type { DomainSupport, OptionSupport } from "../../../domain/options/OptionSupport.ts"
import { readPublished } from "../../../domain/options/published.ts"
import { type Freshness, freshnessPeriods } from "../../../domain/options/SearchOptions.ts"
import * as CoolDown from "../../../domain/providers/CoolDown.ts"
import type { Refusal, RefusalReason } from "../../../domain/providers/Refusal.ts"
import type { Capabilities, UpstreamCall } from "../../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../../domain/search/Organic.ts"
import { cutCodePoints } from "../../../domain/text.ts"
import type { Pacer } from "../../../services/providers/Pacer.ts"
import { defaultTurn } from "../../../services/providers/Provider.ts"
import type { Turn } from "../../../services/providers/Turn.ts"
import * as Gate from "../Gate.ts"
import * as Paged from "../Paged.ts"
import { address, define, type Engines, requirePrivacy, SecretHeaders } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import type { UpstreamClient } from "../UpstreamClient.ts"
import * as UpstreamRequest from "../UpstreamRequest.ts"

const pageSizeRule = { message: "must be a whole number from 5 to 100" }

const Options = Schema.Struct({
  /** The instance's URL, without `/search`. */
  ...address,
  ...Gate.options,
  headers: Schema.optionalKey(SecretHeaders),
  /** Rows per page. Engines decide it, and SearXNG's API can neither set nor report it. */
  pageSize: Schema.optionalKey(
    Schema.Number.annotate(pageSizeRule).check(
      Schema.isInt(pageSizeRule),
      Schema.isBetween({ minimum: 5, maximum: 100 }, pageSizeRule)
    )
  )
}).check(requirePrivacy)

const defaultPageSize = 10

const maxUnresponsive = 200

const enginesTtl = "10 minutes"

interface Row {
  readonly url: string
  readonly title?: string | null
  readonly content?: string | null
  readonly engine?: string | null
  readonly engines?: ReadonlyArray<string> | null
  readonly publishedDate?: unknown
}

const isString = Predicate.isString
const isOptional = Predicate.or(Predicate.isNullish, isString)

/** Handwritten: a schema takes ten times as long, and every response has ten rows or more. */
const isRow = (row: unknown): row is Row => {
  if (typeof row !== "object" || row === null) return false
  const { content, engine, engines, title, url }: { readonly [K in keyof Row]?: unknown } = row
  return (
    isString(url) &&
    isOptional(title) &&
    isOptional(content) &&
    isOptional(engine) &&
    (Predicate.isNullish(engines) || (Array.isArray(engines) && engines.every(isString)))
  )
}

interface Answer {
  readonly results: ReadonlyArray<unknown>
  readonly unresponsive_engines?: ReadonlyArray<unknown>
}

const isAnswer = (json: unknown): json is Answer => {
  if (typeof json !== "object" || json === null) return false
  const { results, unresponsive_engines }: { readonly [K in keyof Answer]?: unknown } = json
  return Array.isArray(results) && (unresponsive_engines === undefined || Array.isArray(unresponsive_engines))
}

const Unresponsive = Schema.TupleWithRest(Schema.Tuple([Schema.String, Schema.String]), [Schema.Unknown])

const Config = Schema.Struct({ engines: Schema.Array(Schema.Struct({ name: Schema.String })) })

const decodeConfig = Schema.decodeUnknownOption(Config)
const decodeUnresponsive = Schema.decodeUnknownOption(Unresponsive)

// The position before a command. SearXNG splits at Python's whitespace, which includes U+001C to U+001F.
const commandSign = /(?<![^\s\p{Cc}])(?=[!:<?])/gu

/**
 * SearXNG reads words that begin with `!`, `:`, `<` or, in older versions, `?` as commands: `!go` picks another engine.
 * It has no escape character, so each such word gets an apostrophe, which engines ignore even in a phrase.
 */
export const literalQuery = (query: string): string => query.replace(commandSign, "'")

const language = (locale: string): string => `${locale.slice(0, 2)}-${locale.slice(3).toUpperCase()}`

const safesearch = { off: "0", moderate: "1", strict: "2" } as const

/** Unknown text counts as unreachable, so that the next provider is tried. */
const engineFailure = (text: string): RefusalReason => {
  if (/captcha|access denied|blocked|suspended/i.test(text)) return "blocked"
  if (/too many requests/i.test(text)) return "rate_limited"
  if (/time ?out/i.test(text)) return "timeout"
  return "unreachable"
}

/**
 * SearXNG's ancestor searx returns an empty page for a suspended engine, which must not pass for "no results" (R14).
 * After a failure, an empty page is a refusal until the engine returns rows or the suspension must have ended.
 */
const makeSuspension = () => {
  let coolDown = CoolDown.closed
  let lastRefusal: Refusal | undefined
  return {
    failed: (refusal: Refusal) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        coolDown = CoolDown.recordRefusal(coolDown, CoolDown.suspensionPolicy, refusal, now)
        if (CoolDown.suspensionPolicy[refusal.reason] !== undefined) lastRefusal = refusal
      }),
    believe: (rows: ReadonlyArray<UpstreamRow>) => {
      if (rows.length > 0) coolDown = CoolDown.closed
      if (coolDown === CoolDown.closed || lastRefusal === undefined) return Effect.succeed(rows)
      const refusal = lastRefusal
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (CoolDown.phase(coolDown, now) === "open") return Effect.fail(refusal)
        coolDown = CoolDown.closed
        return Effect.succeed(rows)
      })
    }
  }
}

const dialect: Upstream.Dialect = {
  statuses: {
    401: { reason: "unauthorized", why: "its headers in the provider file are not accepted" },
    403: { reason: "malformed", why: "add json to search.formats in its settings.yml" },
    429: {
      reason: "rate_limited",
      why: "its limiter allows 4 JSON requests an hour; add this address to its pass_ip"
    }
  }
}

/** Engines with `site:` operators that can be joined. Others, and SearXNG's default mix, may ignore them. */
const siteOperators: Readonly<Record<string, string>> = {
  google: "OR",
  bing: "OR",
  duckduckgo: "OR",
  brave: "OR",
  startpage: "OR",
  yahoo: "OR",
  qwant: "OR",
  yandex: "|"
}

/** Mojeek supports one `site:` at a time. */
const singleSite: ReadonlySet<string> = new Set(["mojeek"])

const domainsOf = (engine: string | undefined): DomainSupport | undefined => {
  const or = engine !== undefined && Object.hasOwn(siteOperators, engine) ? siteOperators[engine] : undefined
  if (or !== undefined) return { kind: "operators", or, canExclude: true }
  return engine !== undefined && singleSite.has(engine) ? { kind: "operators" } : undefined
}

/** SearXNG skips engines without a time range in silence, which would pass for "no results". */
const withoutTimeRange: ReadonlySet<string> = new Set([
  "bing",
  "yandex",
  "qwant",
  "ecosia",
  "presearch",
  "baidu",
  "naver"
])

const periodsOf = (engine: string | undefined): ReadonlyArray<Freshness> => {
  if (engine === "yahoo") return ["day", "week", "month"]
  return engine !== undefined && withoutTimeRange.has(engine) ? [] : freshnessPeriods
}

/** SearXNG has periods (`time_range`) but no dates. */
const optionsOf = (engine: string | undefined): OptionSupport => {
  const domains = domainsOf(engine)
  return { freshness: periodsOf(engine), news: true, ...(domains === undefined ? {} : { domains }) }
}

const capabilities = (pageSize: number, engine: string | undefined): Capabilities => ({
  paging: { kind: "fixed", pageSize },
  safe: ["off", "moderate", "strict"],
  // SearXNG accepts a country only as the region of a language.
  countries: "none",
  languages: "any",
  options: optionsOf(engine)
})

/** An empty page is an error unless the search really found nothing (R14). */
const readPage = (
  json: unknown,
  engine: string | undefined,
  hasEngine: Effect.Effect<boolean>,
  nowMs: number
): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
  if (!isAnswer(json)) return Upstream.refuse("malformed", "its response is not the documented JSON")
  const isOurs = (row: Row) => engine === undefined || row.engine === engine || row.engines?.includes(engine) === true
  const rows = json.results.slice(0, Upstream.maxRows).filter(isRow)
  const ours = rows.filter(isOurs)
  if (ours.length === 0) return readEmptyPage(json, rows, engine, hasEngine)
  return Effect.succeed(
    ours.map((row) => {
      const read = { url: row.url, title: row.title ?? "", snippet: row.content ?? "" }
      const published = readPublished(row.publishedDate, nowMs)
      return published === undefined ? read : { ...read, published }
    })
  )
}

const readEmptyPage = (
  answer: Answer,
  rows: ReadonlyArray<Row>,
  engine: string | undefined,
  hasEngine: Effect.Effect<boolean>
) =>
  Effect.gen(function* () {
    const failed = (answer.unresponsive_engines ?? [])
      .slice(0, maxUnresponsive)
      .flatMap((entry) => Option.toArray(decodeUnresponsive(entry)))
    const failure = failed.find(([name]) => engine === undefined || name === engine)
    if (failure !== undefined) {
      const [name, why] = failure
      return yield* Upstream.refuse(
        engineFailure(why),
        `its engine ${cutCodePoints(name, 80)} failed: ${cutCodePoints(why, 80)}`
      )
    }
    if (rows.length === 0 && answer.results.length > 0) {
      return yield* Upstream.refuse("malformed", "its rows are not as documented")
    }
    // For an unknown engine, SearXNG uses its default categories; for a private one, it returns nothing.
    if (rows.length > 0 || failed.length > 0 || !(yield* hasEngine)) {
      return yield* Upstream.refuse("malformed", `it has no public engine named ${engine}`)
    }
    return []
  })

export const make = (
  instance: string,
  options: typeof Options.Type
): Effect.Effect<Engines, never, UpstreamClient | Pacer> =>
  Effect.gen(function* () {
    // Operators also give the address of the search page.
    const base = options.url.replace(/\/+$/, "").replace(/\/search$/, "")
    const headers = {
      // `engineFailure` reads English error texts.
      "accept-language": "en",
      ...Record.mapEntries(options.headers ?? {}, (value, name) => [name.toLowerCase(), Redacted.value(value)])
    }
    const gate = yield* Gate.make(instance, options)
    const ask = yield* Upstream.make({ gate, dialect })

    const get = (path: string, parameters: Readonly<Record<string, string | undefined>>, turn: Turn) =>
      ask(UpstreamRequest.get(base + path, parameters, headers), turn)

    /** Undefined if they are hidden, for example by a proxy in front of `/config`. */
    const engines = yield* get("/config", {}, defaultTurn).pipe(
      Effect.map((json) =>
        Option.getOrUndefined(Option.map(decodeConfig(json), ({ engines }) => new Set(engines.map(({ name }) => name))))
      ),
      Effect.orElseSucceed(() => undefined),
      Effect.cachedWithTTL(enginesTtl)
    )

    return (engine) => {
      const suspension = makeSuspension()
      const hasEngine =
        engine === undefined
          ? Effect.succeed(true)
          : Effect.map(engines, (names) => names === undefined || names.has(engine))

      const fetchPage = ({ locale, options, page, query, safe }: UpstreamCall, turn: Turn) => {
        const isNews = options?.isNews === true
        // SearXNG adds all engines of a category to a named engine, so news come from all of its news engines.
        const asked = isNews ? undefined : engine
        const parameters = {
          q: literalQuery(query),
          format: "json",
          engines: asked,
          pageno: String(page),
          language: language(locale),
          safesearch: safesearch[safe],
          time_range: options?.freshness,
          categories: isNews ? "news" : undefined
        }
        const isKnown = isNews ? Effect.succeed(true) : hasEngine
        const read = (json: unknown) =>
          Clock.clockWith((clock) => readPage(json, asked, isKnown, clock.currentTimeMillisUnsafe()))
        return get("/search", parameters, turn).pipe(
          Effect.flatMap((json) => Effect.tapError(read(json), suspension.failed)),
          Effect.flatMap(suspension.believe)
        )
      }

      const name = engine === undefined ? instance : `${instance}/${engine}`
      return Paged.make(name, capabilities(options.pageSize ?? defaultPageSize, engine), gate, fetchPage)
    }
  })

export const type = define({ options: Options, engines: "any", make })
