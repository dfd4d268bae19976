/** All sequences of four words in a text, with their counts. */
const shingles = (text: string): ReadonlyMap<string, number> => {
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? []
  const counts = new Map<string, number>()
  for (let start = 0; start < Math.max(1, words.length - 3); start++) {
    const shingle = words.slice(start, start + 4).join(" ")
    if (shingle !== "") counts.set(shingle, (counts.get(shingle) ?? 0) + 1)
  }
  return counts
}

export interface Score {
  readonly precision: number
  readonly recall: number
  readonly f1: number
}

const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

/**
 * Compares extracted texts with judged texts like the public article extraction benchmark: precision and recall of
 * four-word shingles, averaged over the pages, and F1 of the averages.
 */
export const score = (pairs: ReadonlyArray<{ readonly judged: string; readonly extracted: string }>): Score => {
  const precisions: Array<number> = []
  const recalls: Array<number> = []
  for (const { extracted, judged } of pairs) {
    const wanted = shingles(judged)
    const found = shingles(extracted)
    const sum = (counts: ReadonlyMap<string, number>) => counts.values().reduce((total, count) => total + count, 0)
    const common = [...wanted].reduce((total, [shingle, count]) => total + Math.min(count, found.get(shingle) ?? 0), 0)
    if (found.size > 0) precisions.push(common / sum(found))
    if (wanted.size > 0) recalls.push(common / sum(wanted))
  }
  const precision = mean(precisions)
  const recall = mean(recalls)
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall) }
}
