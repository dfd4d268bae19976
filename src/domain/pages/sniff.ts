import { kindOf, type MediaType } from "./mediaType.ts"

// The parts of the WHATWG MIME Sniffing Standard that documents need. It reads this many bytes.
const maxSniffedBytes = 1_445

/** Control characters are common in old HTML, but not at its start, where images and archives have their signature. */
const maxSignatureBytes = 16

const binaryType = "application/octet-stream"

/** Types that servers state when they do not know the type, or want browsers to save the file. */
const unknownType = /^(?:\*\/\*|unknown\/unknown|application\/unknown)?$/
const downloadType = /^(?:application|binary)\/(?:x-)?(?:octet-stream|(?:force-?)?download)$/

export const isDownload = ({ name }: MediaType): boolean => unknownType.test(name) || downloadType.test(name)

const textOf = (bytes: Uint8Array, end: number): string => new TextDecoder("latin1").decode(bytes.subarray(0, end))

// Tab, line breaks, form feed and escape occur in text (3, "binary data byte").
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what makes bytes binary.
const binaryByte = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]/

const isUtf16 = (start: string, { charset = "" }: MediaType): boolean =>
  /^(?:\xfe\xff|\xff\xfe)/.test(start) || /^utf-?16/i.test(charset.trim())

const isBinary = (start: string, stated: MediaType): boolean =>
  !isUtf16(start, stated) && binaryByte.test(kindOf(stated.name) === "html" ? start.slice(0, maxSignatureBytes) : start)

const guess = (start: string): string => {
  if (/^\s*(?:\xef\xbb\xbf)?\s*<\?xml/.test(start)) return "application/xml"
  return /<(?:!doctype html|html|head|body|title|p|div|h1|meta)\b/i.test(start) ? "text/html" : "text/plain"
}

/**
 * The media type of a document: the stated type, unless its first bytes contradict it. A PDF is recognized under any
 * type, and other binary data is never text.
 */
export const sniff = (bytes: Uint8Array, stated: MediaType): string => {
  const start = textOf(bytes, maxSniffedBytes)
  if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(start)) return "application/pdf"
  if (kindOf(stated.name) === "pdf") return stated.name
  if (downloadType.test(stated.name) || isBinary(start, stated)) return binaryType
  return unknownType.test(stated.name) ? guess(start) : stated.name
}
