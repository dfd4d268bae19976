/** Results of one site among the first results of a search. */
const maxOfOneHost = 3
const firstResults = 10

const hostOf = (url: string): string =>
  url
    .replace(/^https?:\/\/(?:[^/?#]*@)?/i, "")
    .replace(/[/?#].*$/s, "")
    .toLowerCase()

/**
 * The same items in the same order, except that among the first ten at most three are of one host, as long as there are
 * others. Those that are moved come right after the first ten.
 */
export const spreadHosts = <A>(items: ReadonlyArray<A>, urlOf: (item: A) => string): ReadonlyArray<A> => {
  const first: Array<A> = []
  const moved: Array<A> = []
  const counts = new Map<string, number>()
  let taken = 0
  for (const item of items) {
    if (first.length === firstResults) break
    taken++
    const host = hostOf(urlOf(item))
    const count = counts.get(host) ?? 0
    if (count < maxOfOneHost) first.push(item)
    else moved.push(item)
    counts.set(host, count + 1)
  }
  return [...first, ...moved, ...items.slice(taken)]
}
