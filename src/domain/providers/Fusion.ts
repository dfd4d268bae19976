import { type Admits, identityOf, type UpstreamRow } from "../search/Organic.ts"

/** From Cormack, Clarke and Büttcher (2009): keeps a single first rank from deciding. */
const rankOffset = 60

export interface FusedRow {
  readonly row: UpstreamRow
  readonly lists: ReadonlyArray<number>
}

interface Found {
  best: { readonly row: UpstreamRow; readonly rank: number; readonly list: number }
  score: number
  published: string | undefined
  readonly lists: Array<number>
}

const addRow = (found: Map<string, Found>, key: string, row: UpstreamRow, rank: number, list: number): void => {
  const share = 1 / (rankOffset + rank)
  const before = found.get(key)
  if (before === undefined) {
    found.set(key, { best: { row, rank, list }, score: share, published: row.published, lists: [list] })
    return
  }
  // A list counts once for each result, with its best rank.
  if (before.lists.includes(list)) return
  before.score += share
  before.lists.push(list)
  before.published ??= row.published
  if (rank < before.best.rank) before.best = { row, rank, list }
}

/** Reciprocal rank fusion. Ranks are counted without duplicates and rows that the search does not admit (R12). */
export const fuseLists = (
  lists: ReadonlyArray<ReadonlyArray<UpstreamRow>>,
  admits?: Admits,
  firstRank = 1
): ReadonlyArray<FusedRow> => {
  const found = new Map<string, Found>()
  for (const [list, rows] of lists.entries()) {
    const seen = new Set<string>()
    for (const row of rows) {
      const key = identityOf(row.url)
      if (key === undefined || seen.has(key) || (admits !== undefined && !admits(new URL(row.url), row))) continue
      addRow(found, key, row, firstRank + seen.size, list)
      seen.add(key)
    }
  }
  return [...found.values()]
    .sort((a, b) => b.score - a.score || a.best.rank - b.best.rank || a.best.list - b.best.list)
    .map(({ best, lists, published }) => ({
      row: published === undefined ? best.row : { ...best.row, published: best.row.published ?? published },
      lists
    }))
}

export const onlyIn = (rows: ReadonlyArray<FusedRow>, listCount: number): ReadonlyArray<number> => {
  const counts = Array.from({ length: listCount }, () => 0)
  for (const { lists } of rows) {
    const [list] = lists
    if (list !== undefined && lists.length === 1) counts[list] = (counts[list] ?? 0) + 1
  }
  return counts
}
