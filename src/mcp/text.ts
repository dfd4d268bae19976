import { Schema } from "effect"
import { wholeNumber } from "../domain/requests/fields.ts"
import type { BulkResult, RowResult } from "../domain/search/BulkResult.ts"
import type { OrganicResult } from "../domain/search/OrganicResult.ts"
import type { SearchResult } from "../domain/search/SearchResult.ts"
import { cutCodePoints, plural } from "../domain/text.ts"

const maximum = 200_000

export const maxCharacters = (fallback: number) =>
  Schema.optionalKey(
    wholeNumber(maximum, {
      default: fallback,
      description:
        "Maximum number of characters of the text. Results beyond it are left out; the structured content is complete."
    })
  )

const block = ({ position, published, snippet, title, url }: OrganicResult): string =>
  [`${position}. ${title}`, published, url, snippet].filter((line) => line !== undefined && line !== "").join("\n")

const omissionNote = (count: number): string => `(${count} more left out: raise max_characters to see them)`

const fill = (head: string, blocks: ReadonlyArray<string>, characters: number): string => {
  const separator = "\n\n"
  let text = head
  for (const [index, next] of blocks.entries()) {
    const last = index === blocks.length - 1
    const reserve = last ? 0 : separator.length + omissionNote(blocks.length).length
    if (text.length + separator.length + next.length + reserve > characters) {
      return cutCodePoints(`${text}${separator}${omissionNote(blocks.length - index)}`, characters)
    }
    text += separator + next
  }
  return cutCodePoints(text, characters)
}

const headOf = ({ geo, locale, page, query, results, target }: SearchResult): string =>
  `${plural(results.organic.length, "result")} for ${JSON.stringify(query)} (${target}, ${geo}, ${locale}, page ${page})`

export const searchText = (result: SearchResult, characters: number): string =>
  fill(headOf(result), result.results.organic.map(block), characters)

const rowText = (row: RowResult, number: number, characters: number): string => {
  const head = (text: string) => `Search ${number}: ${text}`
  return row.status === "ok"
    ? fill(head(headOf(row)), row.results.organic.map(block), characters)
    : cutCodePoints(head(`${row.error}: ${row.message}`), characters)
}

/** Each row has an equal share, so that long rows leave space for others. */
export const bulkText = ({ failed, results, succeeded, total }: BulkResult, characters: number): string => {
  const head = `${plural(total, "search", "searches")}: ${succeeded} answered, ${failed} failed`
  const separator = "\n\n---\n\n"
  const share = Math.floor((characters - head.length) / total) - separator.length
  const rows = results.map((row, index) => rowText(row, index + 1, Math.max(share, 0)))
  return cutCodePoints([head, ...rows.filter((row) => row !== "")].join(separator), characters)
}
