export const previousRange = (from: string, to: string): { readonly from: string; readonly to: string } => {
  const [start, end] = [Date.parse(from), Date.parse(to)]
  return { from: new Date(start - (end - start)).toISOString(), to: new Date(start).toISOString() }
}

export const changeOf = (after: number, before: number): number | undefined =>
  before === 0 ? undefined : (after - before) / before

export const percentile = (values: ReadonlyArray<number>, share: number): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}
