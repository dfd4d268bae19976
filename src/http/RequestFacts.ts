import { Context, Effect } from "effect"

/** What the one log line of a request tells besides its edge, each part noted by whoever learns it. Times in milliseconds. */
export interface Facts {
  readonly route?: string
  /** The code of the error that was answered. */
  readonly outcome?: string
  readonly principal?: string
  readonly account_id?: string
  readonly target?: string
  readonly batch_id?: string
  readonly rows?: number
  readonly rows_failed?: number
  readonly credits?: number
  readonly cached?: boolean
  readonly provider?: string
  readonly reserve_ms?: number
  readonly search_ms?: number
  readonly settle_ms?: number
}

/** Set by the edge for every request. */
export const RequestFacts = Context.Reference<{ facts: Facts }>("quarry/http/RequestFacts", {
  defaultValue: () => ({ facts: {} })
})

export const note = (facts: Facts): Effect.Effect<void> =>
  Effect.map(RequestFacts, (noted) => {
    noted.facts = { ...noted.facts, ...facts }
  })
