import { Effect } from "effect"
import type { Principal } from "../domain/accounts/Principal.ts"
import type { QuotaExceeded } from "../domain/errors.ts"
import { maxPageCharacters, type PageFormat } from "../domain/pages/PageRequest.ts"
import { maxPageRows, parsePages } from "../domain/pages/PagesRequest.ts"
import type { RequestState } from "../domain/requests/CurrentRequest.ts"
import { setHeaders } from "../http/requestState.ts"
import { quotaHeaders } from "../http/responses/headers.ts"
import type { Receipt } from "../services/charging/Metering.ts"
import { PageBatches } from "../services/pages/PageBatches.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"

export interface WantedPages {
  readonly urls: ReadonlyArray<string>
  readonly format: PageFormat
  readonly source: string
}

const affordable = ({ balance, remaining }: QuotaExceeded): number => remaining + balance

/** Each page that was read costs a credit. If the credits do not cover all pages, only the first ones are read. */
export const makeRawContent = Effect.gen(function* () {
  const batches = yield* PageBatches
  const { isOn } = yield* PageSettings

  return Effect.fnUntraced(function* (
    principal: Principal,
    { format, source, urls }: WantedPages,
    searched: Receipt,
    state: RequestState
  ) {
    const texts = new Map<string, string>()
    // The demo reads no pages (R58).
    if (!isOn || urls.length === 0 || principal._tag === "demo") return texts
    const run = (count: number) => {
      const body = { urls: urls.slice(0, Math.min(count, maxPageRows)), format, max_chars: maxPageCharacters, source }
      return Effect.flatMap(Effect.fromResult(parsePages(body)), (rows) => batches.run(principal, rows))
    }
    const batch = yield* run(urls.length).pipe(
      Effect.catchTag("quota_exceeded", (error) =>
        affordable(error) === 0 ? Effect.succeed(undefined) : run(Math.min(affordable(error), urls.length - 1))
      ),
      Effect.catchTag("quota_exceeded", () => Effect.succeed(undefined)),
      // A search without results has no addresses, so that the body is always valid.
      Effect.catchTag("invalid_request", Effect.die)
    )
    if (batch === undefined) return texts
    const creditsUsed = searched.creditsUsed + batch.receipt.creditsUsed
    setHeaders(state, quotaHeaders({ ...searched, balance: batch.receipt.balance, creditsUsed }))
    batch.body.results.forEach((row, index) => {
      const url = urls[index]
      if (row.status === "ok" && url !== undefined) texts.set(url, row.content)
    })
    return texts
  })
})
