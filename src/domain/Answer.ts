import type { Ranking } from "./Ranking.ts"

/** The answer to a search, from a provider or from the result cache. */
export interface Answer {
  /** Name of the provider. */
  readonly provider: string
  readonly ranking: Ranking
  /** True for a hit of the result cache. A search that joined another's call to a provider is no hit (R15). */
  readonly cached: boolean
}
