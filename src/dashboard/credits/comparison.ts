/** Comparison of a range with the one before it, and percentiles of latency. */

/** The range of the same length that ends where this one begins. */
export const previousRange = (from: string, to: string): { readonly from: string; readonly to: string } => {
  const [start, end] = [Date.parse(from), Date.parse(to)]
  return { from: new Date(start - (end - start)).toISOString(), to: new Date(start).toISOString() }
}

/** The change from `before` to `after` as a share; undefined where there was nothing before. */
export const changeOf = (after: number, before: number): number | undefined =>
  before === 0 ? undefined : (after - before) / before

/** The smallest value that at least `share` of the values do not exceed; undefined without values. */
export const percentile = (values: ReadonlyArray<number>, share: number): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}
