import type { OrganicResult } from "./OrganicResult.ts"

/** The text of a result for a reranker. */
export const rerankText = ({ snippet, title }: OrganicResult): string =>
  snippet === "" ? title : title === "" ? snippet : `${title}\n${snippet}`

/**
 * The results in a new order. Results that the order does not name follow in their own order, so that none is lost.
 * Undefined if the order names a result twice, or one of which the reranker got no text.
 */
export const reorder = (
  results: ReadonlyArray<OrganicResult>,
  order: ReadonlyArray<number>,
  top: number
): ReadonlyArray<OrganicResult> | undefined => {
  const count = Math.min(top, results.length)
  const named = new Set(order)
  const isKnown = (index: number) => Number.isInteger(index) && index >= 0 && index < count
  if (named.size !== order.length || !order.every(isKnown)) return undefined
  const rest = results.filter((_, index) => !named.has(index))
  return [...order.flatMap((index) => results[index] ?? []), ...rest].map((result, index) => ({
    ...result,
    position: index + 1
  }))
}
