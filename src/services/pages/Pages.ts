import { Context, Effect, Layer, Result } from "effect"
import type { AccountPrincipal } from "../../domain/accounts/Principal.ts"
import type { RateLimited } from "../../domain/errors.ts"
import { type PageResult, toPageResult } from "../../domain/pages/PageBody.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { makeSingles, type Settlement, type SingleKind, type Singles } from "../search/Singles.ts"
import { describePage } from "../telemetry/Tracing.ts"
import { countPage, countUnsentPage, PageReader, type PageReading, toPageEntry, unsentReading } from "./PageReader.ts"
import type { ReadFailure } from "./PageReaders.ts"
import { PageSettings } from "./PageSettings.ts"

/** `rate_limited`: the account has used the parser too much for pages that were not charged (R83). */
export type PageFailure = ReadFailure | RateLimited

export type PageSettlement = Settlement<PageResult, PageFailure>

/** Reads single pages. Only pages that were read are charged. */
export class Pages extends Context.Service<Pages, Singles<AccountPrincipal, PageRequest, PageResult, PageFailure>>()(
  "quarry/services/pages/Pages"
) {
  static readonly layer = Layer.effect(
    Pages,
    Effect.gen(function* () {
      const reader = yield* PageReader
      const kind: SingleKind<AccountPrincipal, PageRequest, PageReading, PageResult, PageFailure> = {
        route: "page",
        spanName: "Pages.read",
        idPrefix: "pag_",
        patience: (yield* PageSettings).timeout,
        targetOf: () => pageTarget,
        describe: (span, { url }, withText) => describePage(span, url, withText),
        check: (request, principal) => reader.parserLimit(principal, request),
        run: reader.read,
        unsent: unsentReading,
        toEntry: toPageEntry,
        toBody: (id, request, { copy }) => Result.map(copy, (copy) => toPageResult(id, request, copy)),
        // Only a page that was read is kept. Its text is not checked again.
        keep: (body) => JSON.stringify(Result.getOrUndefined(body)),
        restore: (text) => Result.succeed(JSON.parse(text)),
        count: (entry) => countPage("page", entry),
        countUnsent: (_, { _tag }, { durationMs }) => countUnsentPage(_tag, durationMs)
      }
      return yield* makeSingles(kind)
    })
  )
}
