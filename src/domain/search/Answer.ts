import type { Ranking } from "./Ranking.ts"

export interface Answer {
  readonly provider: string
  readonly ranking: Ranking
  /** False for a search that joined a running call (R15). */
  readonly cached: boolean
  /**
   * Present if a reranker failed or an index was loading. The next search must be able to get a better answer, so this
   * one is not cached.
   */
  readonly isProvisional?: boolean
}
