/** Some of the items, the same for the same seed: those with the smallest hash of seed and place (FNV-1a). */
export const sampleOf = <A>(items: ReadonlyArray<A>, count: number, seed: number): ReadonlyArray<A> => {
  const hash = (text: string) => {
    let value = 0x811c9dc5
    for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 0x01000193)
    return value >>> 0
  }
  return items
    .map((item, place) => ({ item, rank: hash(`${seed}:${place}`) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ item }) => item)
}
