import type { OrganicResult } from "./OrganicResult.ts"

/** Kept as encoded JSON for cache and responses: a batch of objects would fill the young generation of the heap. */
export class Ranking {
  readonly json: Buffer
  readonly count: number

  constructor(results: ReadonlyArray<OrganicResult>) {
    const text = JSON.stringify(results)
    // Not `Buffer.from`: small buffers share an 8 KiB slab, and one cached buffer would keep the whole slab in memory.
    this.json = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
    this.json.write(text)
    this.count = results.length
  }

  /** Parses on each access. Unchecked: the JSON comes from the constructor. */
  get results(): ReadonlyArray<OrganicResult> {
    return JSON.parse(this.json.toString())
  }
}
