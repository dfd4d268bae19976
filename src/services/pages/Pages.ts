import { Context, Effect, Layer, Result, type Tracer } from "effect"
import type { AccountPrincipal } from "../../domain/accounts/Principal.ts"
import type { RateLimited } from "../../domain/errors.ts"
import { type PageResult, toPageResult } from "../../domain/pages/PageBody.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { admitTarget, charged, makeStart, type Settlement, type SingleError, uncharged } from "../charging/Charge.ts"
import { type KeyError, keyedRequest, waitForFirst } from "../charging/Idempotency.ts"
import { makeMetering, type Reserve } from "../charging/Metering.ts"
import { Ids } from "../Ids.ts"
import { addFields, requestId } from "../telemetry/recording.ts"
import { describePage, TraceQueryText } from "../telemetry/Tracing.ts"
import { countPage, countUnsentPage, PageReader, toPageEntry, unsentReading } from "./PageReader.ts"
import type { ReadFailure } from "./PageReaders.ts"
import { PageSettings } from "./PageSettings.ts"

/** `rate_limited`: the account has used the parser too much for pages that were not charged (R83). */
export type PageFailure = ReadFailure | RateLimited

export type PageSettlement = Settlement<PageResult, PageFailure>

/** Reads single pages. Only pages that were read are charged. Otherwise like `Search`. */
export class Pages extends Context.Service<
  Pages,
  {
    readonly run: (principal: AccountPrincipal, request: PageRequest) => Effect.Effect<PageSettlement, SingleError>
    readonly runKeyed: (
      principal: AccountPrincipal,
      request: PageRequest,
      key: string
    ) => Effect.Effect<PageSettlement, SingleError | KeyError>
  }
>()("quarry/services/pages/Pages") {
  static readonly layer = Layer.effect(
    Pages,
    Effect.suspend(() => make)
  )
}

// Only a page that was read is kept. Its text is not checked again.
const keepPage = (body: PageSettlement["body"]): string => JSON.stringify(Result.getOrUndefined(body))
const restorePage = (text: string): PageSettlement["body"] => Result.succeed(JSON.parse(text))

const make = Effect.gen(function* () {
  const start = yield* makeStart
  const { reserve, reserveKeyed } = yield* makeMetering
  const reader = yield* PageReader
  const ids = yield* Ids
  const { timeout } = yield* PageSettings

  const read = <E>(principal: AccountPrincipal, request: PageRequest, reserve: Reserve<E>) =>
    start("Pages.read", (span) => steps(span, principal, request, reserve))

  const steps = Effect.fnUntraced(function* <E>(
    span: Tracer.Span,
    principal: AccountPrincipal,
    request: PageRequest,
    reserveFor: Reserve<E>
  ): Effect.fn.Return<PageSettlement, E | SingleError> {
    describePage(span, request.url, yield* TraceQueryText)
    yield* addFields({ target: pageTarget })
    yield* admitTarget(principal, pageTarget)
    const tooMuch = yield* reader.parserLimit(principal, request)
    if (tooMuch !== undefined) {
      const hold = yield* reserve(principal, 0)
      return uncharged(span, Result.fail(tooMuch), yield* hold.settle([]))
    }
    const hold = yield* reserveFor(1)
    if ("text" in hold) return uncharged(span, restorePage(hold.text), hold.receipt)
    const run = Effect.interruptible(reader.read(principal, request))
    const reading = yield* Effect.onError(run, () => hold.settle([]))
    const unsent = unsentReading(reading)
    if (unsent !== undefined) {
      yield* countUnsentPage(unsent._tag, reading.durationMs)
      return uncharged(span, Result.fail(unsent), yield* hold.settle([]))
    }
    const id = yield* ids.make("pag_")
    const place = { id, batchId: undefined, rowIndex: undefined, requestId: yield* requestId }
    const entry = toPageEntry(principal, request, place, reading)
    yield* countPage("page", entry)
    const body = Result.map(reading.copy, (copy) => toPageResult(id, request, copy))
    return yield* charged(span, hold, entry, body, keepPage)
  })

  return Pages.of({
    run: (principal, request) => read(principal, request, (credits) => reserve(principal, credits)),
    runKeyed: (principal, request, key) => {
      const keyed = keyedRequest("page", key, request)
      return waitForFirst(timeout)(read(principal, request, (credits) => reserveKeyed(principal, credits, keyed)))
    }
  })
})
