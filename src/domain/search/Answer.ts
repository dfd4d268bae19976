import type { Ranking } from "./Ranking.ts"

/** The answer to a search, from a provider or from the result cache. */
export interface Answer {
  readonly provider: string
  readonly ranking: Ranking
  /** True for a cache hit. A search that joined a running call is not a cache hit (R15). */
  readonly cached: boolean
}
