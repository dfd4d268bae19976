const maxLines = 5

/** The smallest 1, 2, or 5 times a power of ten that needs at most `maxLines`. At least 1, because counts are whole. */
const stepOf = (max: number): number => {
  const least = Math.max(1, max / maxLines)
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power
}

export const linesOf = (max: number): ReadonlyArray<number> => {
  const step = stepOf(max)
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, index) => index * step)
}
