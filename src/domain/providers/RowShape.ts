import { Result } from "effect"
import { parseIsoDate, readPublished } from "../options/published.ts"
import { toMoment } from "../requests/fields.ts"
import type { UpstreamRow } from "../search/Organic.ts"
import { type JsonPath, parsePath, valueAt } from "./JsonPath.ts"

/** The place of a text in a row: a path, or an address with paths in braces. */
export type TextSource =
  | { readonly _tag: "path"; readonly path: JsonPath }
  | { readonly _tag: "address"; readonly parts: ReadonlyArray<string | JsonPath> }

/** The first source with a text wins. */
export type Field = ReadonlyArray<TextSource>

/** The places of the rows and their fields in a response (R86). */
export interface RowShape {
  readonly rows: JsonPath
  readonly url: Field
  readonly title: Field
  readonly snippet: Field
  readonly published: Field
  readonly isHtml: boolean
  /** True if dates may also be English text, such as "3 days ago". */
  readonly hasEnglishDates: boolean
}

const slot = /\{([^{}]*)\}/g

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text)

const parseAddress = (text: string): TextSource | undefined => {
  const parts: Array<string | JsonPath> = []
  let end = 0
  for (const match of text.matchAll(slot)) {
    const path = parsePath(match[1] ?? "")
    if (path === undefined || path.length === 0) return undefined
    parts.push(text.slice(end, match.index), path)
    end = match.index + match[0].length
  }
  parts.push(text.slice(end))
  // Braces in the host would let a response choose the site that a result seems to come from.
  const [start = ""] = parts
  const hasHost = typeof start === "string" && /^https?:\/\/[^/{}]+\//i.test(start)
  return hasHost && !/[{}]/.test(text.replace(slot, "")) ? { _tag: "address", parts } : undefined
}

/** Undefined if the text is neither a path nor, where one is allowed, an address with paths in braces. */
export const parseSource = (text: string, allowsAddress: boolean): TextSource | undefined => {
  if (allowsAddress && isAddress(text)) return parseAddress(text)
  const path = parsePath(text)
  return path === undefined || path.length === 0 ? undefined : { _tag: "path", path }
}

const asText = (value: unknown): string | undefined => {
  if (typeof value === "number" && Number.isFinite(value)) return String(value)
  return typeof value === "string" && value.trim() !== "" ? value.toWellFormed() : undefined
}

const readSource = (row: unknown, source: TextSource): string | undefined => {
  if (source._tag === "path") return asText(valueAt(row, source.path))
  let address = ""
  for (const part of source.parts) {
    const text = typeof part === "string" ? part : asText(valueAt(row, part))
    if (text === undefined) return undefined
    address += typeof part === "string" ? text : encodeURIComponent(text)
  }
  return address
}

const firstOf = <A>(field: Field, read: (source: TextSource) => A | undefined): A | undefined => {
  for (const source of field) {
    const value = read(source)
    if (value !== undefined) return value
  }
  return undefined
}

export const readField = (row: unknown, field: Field): string | undefined =>
  firstOf(field, (source) => readSource(row, source))

/** Smaller numbers may be years. */
const minUnixSeconds = 10_000_000
const endOfTimeSeconds = 253_402_300_800

/** Reads ISO 8601, Unix seconds, and English text if the shape has it. Undefined for other values. */
const readDate = (value: unknown, { hasEnglishDates }: RowShape, nowMs: number): string | undefined => {
  const seconds = typeof value === "number" || (typeof value === "string" && /^\d{8,12}$/.test(value)) ? +value : NaN
  if (Number.isNaN(seconds)) return hasEnglishDates ? readPublished(value, nowMs) : parseIsoDate(value)
  if (seconds < minUnixSeconds || seconds >= endOfTimeSeconds) return undefined
  return `${toMoment(Math.floor(seconds) * 1000).slice(0, 19)}Z`
}

const readRow = (row: unknown, shape: RowShape, nowMs: number): ReadonlyArray<UpstreamRow> => {
  const url = readField(row, shape.url)
  if (url === undefined) return []
  const title = readField(row, shape.title) ?? ""
  const snippet = readField(row, shape.snippet) ?? ""
  const published = firstOf(shape.published, (source) =>
    source._tag === "path" ? readDate(valueAt(row, source.path), shape, nowMs) : undefined
  )
  return [
    {
      url,
      title,
      snippet,
      ...(published === undefined ? {} : { published }),
      ...(shape.isHtml ? { isHtml: true as const } : {})
    }
  ]
}

const maxCountDepth = 3
const maxMembers = 50

/** True if the response counts no results, as `"totalResults": "0"` does. */
const countsNothing = (json: unknown, depth = 0): boolean => {
  if (typeof json !== "object" || json === null || Array.isArray(json) || depth > maxCountDepth) return false
  return Object.entries(json)
    .slice(0, maxMembers)
    .some(
      ([name, value]) =>
        (/total|count|hits|found|results/i.test(name) && (value === 0 || value === "0")) ||
        countsNothing(value, depth + 1)
    )
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null

/**
 * The rows of a response, at most `maxRows`. A response without a list of rows has no results only if it has the object
 * around the list, or counts no results. Otherwise an error in the body of a 200 would become an empty page (R14).
 */
export const readRows = (
  json: unknown,
  shape: RowShape,
  { maxRows, nowMs }: { readonly maxRows: number; readonly nowMs: number }
): Result.Result<ReadonlyArray<UpstreamRow>, string> => {
  const list = valueAt(json, shape.rows)
  if (Array.isArray(list)) {
    const rows = list.slice(0, maxRows).flatMap((row) => readRow(row, shape, nowMs))
    return rows.length > 0 || list.length === 0 ? Result.succeed(rows) : Result.fail("none of its rows has an address")
  }
  if (list !== undefined && list !== null) return Result.fail("its value at the path of the rows is not a list")
  const around = shape.rows.length > 1 ? valueAt(json, shape.rows.slice(0, -1)) : undefined
  if (isObject(around) || countsNothing(json)) return Result.succeed([])
  return Result.fail("its response has no rows where the description expects them")
}
