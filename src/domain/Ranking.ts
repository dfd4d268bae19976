import type { OrganicResult } from "./OrganicResult.ts"

/**
 * Ranked results as the JSON array that is kept and answered, encoded once where they are made. As objects they would be
 * encoded for the cache and again for the answer, and a batch's would fill the memory that is collected most often.
 */
export class Ranking {
  readonly json: Buffer
  readonly count: number

  constructor(results: ReadonlyArray<OrganicResult>) {
    const text = JSON.stringify(results)
    // Not `Buffer.from`: a small buffer would be a slice of 8 KiB that it shares with others, and keep all of them.
    this.json = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
    this.json.write(text)
    this.count = results.length
  }

  /** Read anew each time. Nothing checks the type: the JSON is what the constructor was given. */
  get results(): ReadonlyArray<OrganicResult> {
    return JSON.parse(this.json.toString())
  }
}
