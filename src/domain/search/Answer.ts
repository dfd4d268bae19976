import type { Ranking } from "./Ranking.ts"

export interface Answer {
  readonly provider: string
  readonly ranking: Ranking
  /** True for a cache hit. A search that joined a running call is not a cache hit (R15). */
  readonly cached: boolean
}
