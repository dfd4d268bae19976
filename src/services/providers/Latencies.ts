/** Enough samples for a p95, and few enough to follow a provider that slows down. */
const maxSamples = 128

/** Durations of the latest responses, in milliseconds. */
export class Latencies {
  private readonly samples: Array<number> = []
  private next = 0
  private sorted: ReadonlyArray<number> | undefined

  add(ms: number): void {
    this.samples[this.next] = ms
    this.next = (this.next + 1) % maxSamples
    this.sorted = undefined
  }

  get count(): number {
    return this.samples.length
  }

  percentile(share: number): number | undefined {
    this.sorted ??= this.samples.toSorted((a, b) => a - b)
    return this.sorted[Math.max(0, Math.ceil(this.sorted.length * share) - 1)]
  }
}
