import { fileURLToPath } from "node:url"
import { getDocumentProxy } from "unpdf"
import type { ParsedPage, ParseFailureReason } from "../../domain/pages/Page.ts"
import { visibleText } from "../../domain/pages/visibleText.ts"
import { DocumentTooLarge, oneLine } from "./html/Tree.ts"

const limits = { pages: 5_000, characters: 10_000_000 }

/** Maps for fonts that name one of Adobe's character collections, as many in Chinese, Japanese and Korean do. */
const cMapUrl = fileURLToPath(new URL("../../../data/cmaps/", import.meta.url)).replaceAll("\\", "/")

const metaText = (value: unknown): string | null =>
  (typeof value === "string" ? oneLine(visibleText(value)).slice(0, 2_000) : "") || null

/** Converts `D:20261002093000+02'00'` to a date or date-time. */
const readPdfDate = (value: unknown): string | null => {
  const [, year, month, day, hour, minute, second, zone = ""] =
    /^(?:D:)?(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2})?(Z|[+-]\d{2}'?\d{2})?)?/.exec(
      typeof value === "string" ? value : ""
    ) ?? []
  if (year === undefined || Number(month) > 12 || Number(day) > 31) return null
  const date = `${year}-${month}-${day}`
  if (hour === undefined) return date
  const offset = zone.replace("'", "").replace(/^([+-]\d{2})(\d{2})$/, "$1:$2")
  return `${date}T${hour}:${minute}:${second ?? "00"}${offset}`
}

const paragraphs = (lines: string): string =>
  visibleText(lines)
    .replace(/(\p{Ll})-\n(?=\p{Ll})/gu, "$1")
    .replace(/[ \t]+/g, " ")
    .replace(/ ?\n ?/g, "\n")
    .trim()

/** Encrypted and scanned PDFs have no text (R59). */
export const readPdf = async (bytes: Uint8Array, mediaType: string): Promise<ParsedPage | ParseFailureReason> => {
  const noText = "no_text"
  const options = { verbosity: 0, stopAtErrors: false, disableFontFace: true, maxImageSize: 0 }
  const open = getDocumentProxy(bytes, { ...options, cMapUrl, cMapPacked: true })
  const pdf = await open.catch(() => undefined)
  if (pdf === undefined) return noText
  if (pdf.numPages > limits.pages) throw new DocumentTooLarge()
  const pages: Array<string> = []
  let characters = 0
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number).catch(() => undefined)
    const content = await page?.getTextContent().catch(() => undefined)
    const parts = (content?.items ?? []).map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : ""))
    pages.push(paragraphs(parts.join("")))
    characters += pages.at(-1)?.length ?? 0
    if (characters > limits.characters) throw new DocumentTooLarge()
    page?.cleanup()
  }
  const text = pages.filter((page) => page !== "").join("\n\n")
  if (!/[\p{L}\p{N}]/u.test(text)) return noText
  const metadata = await pdf.getMetadata().catch(() => undefined)
  const info = new Map<string, unknown>(Object.entries(metadata?.info ?? {}))
  return {
    title: metaText(info.get("Title")),
    description: metaText(info.get("Subject")),
    author: metaText(info.get("Author")),
    siteName: null,
    published: readPdfDate(info.get("CreationDate")),
    language: metaText(info.get("Language")),
    mediaType,
    markdown: text,
    text,
    links: []
  }
}
