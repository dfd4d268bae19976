import type { OrganicResult } from "./OrganicResult.ts"

/** Kept as encoded JSON for cache and responses: a batch of objects would fill the young generation of the heap. */
export class Ranking {
  readonly json: string
  readonly count: number

  constructor(results: ReadonlyArray<OrganicResult>) {
    this.json = JSON.stringify(results)
    this.count = results.length
  }

  /** Parses on each access. Unchecked: the JSON comes from the constructor. */
  get results(): ReadonlyArray<OrganicResult> {
    return JSON.parse(this.json)
  }
}
