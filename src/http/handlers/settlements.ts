import { Effect, Exit, Fiber } from "effect"
import type { LedgerTimings, Receipt } from "../../services/credits/Metering.ts"
import type { KeyError, SearchError } from "../../services/search/Search.ts"
import { addLogFields, type LogFields, type RequestState, setHeaders } from "../CurrentRequest.ts"
import { quotaErrorHeaders, quotaHeaders } from "../responses/headers.ts"

export const logSettlement = <A, E>(
  state: RequestState,
  settlement: Fiber.Fiber<A, E>,
  factsOf: (settlement: A) => LogFields
): Effect.Effect<void> =>
  Effect.map(Fiber.await(settlement), (exit) => {
    if (Exit.isSuccess(exit)) addLogFields(state, factsOf(exit.value))
  })

export const ledgerFacts = ({ creditsUsed, isReplay }: Receipt, { reserveMs, settleMs }: LedgerTimings): LogFields => ({
  credits: creditsUsed,
  ...(isReplay === undefined ? {} : { replayed: isReplay }),
  reserve_ms: reserveMs,
  settle_ms: settleMs
})

export const withQuotaOnFailure = <A, E extends SearchError | KeyError, R>(
  state: RequestState,
  run: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.tapError(run, (error) =>
    Effect.sync(() => {
      if (error._tag === "quota_exceeded") setHeaders(state, quotaErrorHeaders(error))
    })
  )

/** For charged work: logs it even if the client disconnects, and sends the quota's headers. */
export const settled = <S extends { readonly receipt: Receipt }, E extends SearchError | KeyError, R>(
  state: RequestState,
  factsOf: (settlement: S) => LogFields,
  run: (onStart: <F>(settlement: Fiber.Fiber<S, F>) => void) => Effect.Effect<S, E, R>
): Effect.Effect<S, E, R> => {
  const running = run((settlement) => {
    state.work = logSettlement(state, settlement, factsOf)
  })
  return Effect.map(withQuotaOnFailure(state, running), (settlement) => {
    addLogFields(state, factsOf(settlement))
    setHeaders(state, quotaHeaders(settlement.receipt))
    return settlement
  })
}
