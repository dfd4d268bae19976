import type { Ranking } from "./Ranking.ts"

/** The answer to a search, as a provider gave it or as the result cache kept it. */
export interface Answer {
  /** Name of the provider that gave it. */
  readonly provider: string
  readonly ranking: Ranking
  /** Whether the result cache had it. A search that joined another's call to a provider is no hit (R15). */
  readonly cached: boolean
}
