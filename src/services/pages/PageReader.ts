import { Clock, Context, Duration, Effect, Layer, Metric, Result } from "effect"
import { type AccountPrincipal, defaultSource, type Principal } from "../../domain/accounts/Principal.ts"
import { PageUnreadable, RateLimited, UpstreamError, type UpstreamTimeout } from "../../domain/errors.ts"
import type { Payer, Payers } from "../../domain/fairness/Payers.ts"
import type { LogEntry, LogPlace } from "../../domain/log/LogEntry.ts"
import { OversizedPages } from "../../domain/pages/OversizedPages.ts"
import type { PageCopy } from "../../domain/pages/PageBody.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import { unsentFailure } from "../../domain/providers/Unsent.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { waitText } from "../../domain/text.ts"
import type { UnreadableReason } from "../../domain/UnreadableReason.ts"
import { callerOf } from "../charging/Charge.ts"
import { shareFairly } from "../fairness/shareFairly.ts"
import { pageDuration, pageParserLimited } from "../telemetry/Metrics.ts"
import { Flights } from "../waiting/Flights.ts"
import { PageCache } from "./PageCache.ts"
import { PageFetcher } from "./PageFetcher.ts"
import { PageParser } from "./PageParser.ts"
import { direct, mayBeReadElsewhere, PageReaders, type ReadFailure } from "./PageReaders.ts"
import { PageSettings } from "./PageSettings.ts"
import { ParserAllowance } from "./ParserAllowance.ts"

export interface PageReading {
  readonly copy: Result.Result<PageCopy, ReadFailure>
  readonly cached: boolean
  readonly durationMs: number
}

export class PageReader extends Context.Service<
  PageReader,
  {
    /** Concurrent requests for the same address share a fetch (R15). */
    readonly read: (principal: AccountPrincipal, request: PageRequest) => Effect.Effect<PageReading>
    /** The error of an account that may not use the parser now (R83). `read` would fail with `timed_out`. */
    readonly parserLimit: (principal: AccountPrincipal, request: PageRequest) => Effect.Effect<RateLimited | undefined>
  }
>()("quarry/services/pages/PageReader") {
  static readonly layer = Layer.effect(
    PageReader,
    Effect.suspend(() => make)
  )
}

const noReader = new UpstreamError({ message: "No reader of pages is configured.", unsent: true })

/** A copy that is new enough for the request. */
const makeFindCopy = (cache: PageCache["Service"], cacheTtl: Duration.Duration) => {
  const ttlMs = Duration.toMillis(cacheTtl)
  return Effect.fnUntraced(function* ({ maxAgeSeconds, url }: PageRequest, now: number) {
    const maxAgeMs = maxAgeSeconds === undefined ? ttlMs : maxAgeSeconds * 1000
    const found = ttlMs > 0 && maxAgeMs > 0 ? yield* cache.get(url) : undefined
    return found !== undefined && now - found.fetchedAt <= maxAgeMs ? found : undefined
  })
}

/** Reads a page with Quarry's own fetcher and parser. */
const makeDirectly = (fetcher: PageFetcher["Service"], parser: PageParser["Service"]) => {
  const oversized = new OversizedPages()
  return Effect.fnUntraced(function* (url: string, payer: Payer, budget: Duration.Duration) {
    const known = oversized.statusOf(url, yield* Clock.currentTimeMillis)
    if (known !== undefined) return yield* PageUnreadable.because("too_large", known)
    const fetched = yield* fetcher.fetch(new URL(url), payer, budget)
    const fetchedAt = yield* Clock.currentTimeMillis
    // Read before parsing, because the parser takes ownership of the buffer.
    const { length } = fetched.bytes
    const page = yield* parser
      .parse({ bytes: fetched.bytes, contentType: fetched.contentType, url: fetched.finalUrl, accountId: payer })
      .pipe(
        Effect.tapError(({ reason }) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            if (reason !== "too_large") return
            for (const address of new Set([url, fetched.finalUrl])) oversized.add(address, fetched.status, now)
          })
        ),
        Effect.mapError(({ reason }) => PageUnreadable.because(reason, fetched.status))
      )
    const copy: PageCopy = { finalUrl: fetched.finalUrl, fetchedAt, bytes: length, page }
    return copy
  })
}

/** Only a timeout fails the shared run: requests that joined late still have time for their own fetch (R15). */
const settled = (run: Effect.Effect<PageCopy, ReadFailure>) =>
  Effect.flatMap(Effect.result(run), (result) =>
    Result.isFailure(result) && isTimeout(result.failure) ? Effect.fail(result.failure) : Effect.succeed(result)
  )

const make = Effect.gen(function* () {
  const cache = yield* PageCache
  const { cacheTtl, timeout } = yield* PageSettings
  const keepsCopies = Duration.toMillis(cacheTtl) > 0
  const flights = new Flights<Result.Result<PageCopy, ReadFailure>, Payers>()
  yield* Effect.addFinalizer(() => flights.interruptAll)
  const readers = yield* PageReaders
  const allowance = yield* ParserAllowance
  // Starts at 0, because a counter that first appears with 1 shows no increase.
  yield* Metric.update(pageParserLimited.of(), 0)

  const readDirectly = makeDirectly(yield* PageFetcher, yield* PageParser)

  /** The failure of the last reader that was asked is the page's. */
  const readByAny = Effect.fnUntraced(function* (url: string, payer: Payer, budget: Duration.Duration) {
    let failure: ReadFailure | undefined
    for (const reader of readers) {
      const run: Effect.Effect<PageCopy, ReadFailure> =
        reader === direct ? readDirectly(url, payer, budget) : reader.read(new URL(url), budget)
      const result = yield* Effect.result(run)
      if (Result.isSuccess(result)) return result.success
      if (failure === undefined || isAsked(result.failure)) failure = result.failure
      if (!mayBeReadElsewhere(failure)) break
    }
    return yield* Effect.fail(failure ?? noReader)
  })

  const readAtSite = Effect.fnUntraced(function* (url: string, payer: Payer, budget: Duration.Duration) {
    const copy = yield* readByAny(url, payer, budget)
    if (keepsCopies) yield* cache.set(url, copy)
    return copy
  })

  const readShared = Effect.fnUntraced(function* (url: string, accountId: string) {
    const startedAt = yield* Clock.currentTimeMillis
    const isJoining = flights.find(url) !== undefined
    const shared = yield* Effect.result(
      shareFairly(flights, url, accountId, (payers) => settled(readAtSite(url, payers, timeout)))
    )
    if (Result.isSuccess(shared)) return shared.success
    const left = Duration.toMillis(timeout) - ((yield* Clock.currentTimeMillis) - startedAt)
    if (!isJoining || left <= 0) return Result.fail(shared.failure)
    return yield* Effect.result(readAtSite(url, accountId, Duration.millis(left)))
  })

  const findCopy = makeFindCopy(cache, cacheTtl)

  const retryAfterMs = (accountId: string, now: number): number =>
    readers.includes(direct) ? allowance.retryAfterMs(accountId, now) : 0

  return PageReader.of({
    read: Effect.fnUntraced(function* ({ account }, request) {
      const startedAt = yield* Clock.currentTimeMillis
      const found = yield* findCopy(request, startedAt)
      const read =
        retryAfterMs(account.id, startedAt) > 0
          ? Effect.as(countLimited, Result.fail(PageUnreadable.because("timed_out")))
          : readShared(request.url, account.id)
      const copy = found === undefined ? yield* read : Result.succeed(found)
      return { copy, cached: found !== undefined, durationMs: (yield* Clock.currentTimeMillis) - startedAt }
    }),
    parserLimit: Effect.fnUntraced(function* ({ account }, request) {
      const now = yield* Clock.currentTimeMillis
      const waitMs = retryAfterMs(account.id, now)
      if (waitMs === 0 || (yield* findCopy(request, now)) !== undefined) return undefined
      yield* countLimited
      return tooMuchParsing(waitMs)
    })
  })
})

const isAsked = (failure: ReadFailure): boolean => failure._tag === "page_unreadable" || failure.unsent !== true

/** The error of a page that no reader was asked for (R76). */
export const unsentReading = ({ copy }: PageReading): UpstreamError | UpstreamTimeout | undefined =>
  Result.isFailure(copy) && copy.failure._tag !== "page_unreadable" ? unsentFailure(copy.failure) : undefined

const countLimited = Metric.update(pageParserLimited.of(), 1)

const tooMuchParsing = (waitMs: number): RateLimited => {
  const retryAfterSeconds = Math.ceil(waitMs / 1000)
  const wait = waitText(retryAfterSeconds)
  const message = `Pages that could not be read have taken too much time to parse. Try again in ${wait}.`
  return new RateLimited({ message, retryAfterSeconds })
}

const isTimeout = (failure: ReadFailure): boolean =>
  failure._tag === "upstream_timeout" || (failure._tag === "page_unreadable" && failure.reason === "timed_out")

const reasonOf = ({ copy }: PageReading): UnreadableReason | undefined =>
  Result.isFailure(copy) && copy.failure._tag === "page_unreadable" ? copy.failure.reason : undefined

/** The log entry of a page. Only pages that were read cost a credit (R58). */
export const toPageEntry = (
  principal: Principal,
  request: PageRequest,
  place: LogPlace,
  reading: PageReading
): LogEntry => {
  const { cached, copy, durationMs } = reading
  const isRead = Result.isSuccess(copy)
  return {
    ...place,
    ...callerOf(principal),
    request: { target: pageTarget, query: request.url, source: request.source ?? defaultSource(principal) },
    outcome: isRead ? "ok" : copy.failure._tag,
    credits: isRead ? 1 : 0,
    cached,
    provider: isRead ? (copy.success.reader ?? direct) : copy.failure._tag === "page_unreadable" ? direct : undefined,
    resultCount: 0,
    durationMs,
    refusals: [],
    page: {
      host: new URL(isRead ? copy.success.finalUrl : request.url).hostname,
      reason: reasonOf(reading),
      bytes: isRead ? copy.success.bytes : 0
    }
  }
}

export const countUnsentPage = (error: string, durationMs: number) =>
  Metric.update(pageDuration.of("page", error, "false"), durationMs / 1000)

export const countPage = (operation: "page" | "row", { cached, durationMs, outcome, page }: LogEntry) =>
  Metric.update(pageDuration.of(operation, page?.reason ?? outcome, String(cached)), durationMs / 1000)
