const maxPrescanBytes = 64 * 1024

const byteOrderMarks: ReadonlyArray<readonly [ReadonlyArray<number>, string]> = [
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xfe, 0xff], "utf-16be"],
  [[0xff, 0xfe], "utf-16le"]
]

/** The decoder for a charset label. Undefined if the WHATWG list does not have it. */
const decoderOf = (label: string | undefined) => {
  if (label === undefined) return undefined
  try {
    return new TextDecoder(label.trim())
  } catch {
    return undefined
  }
}

const declared = /<meta\b[^>]{0,1000}?\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)/i
const xmlDeclared = /^\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([^"']+)/i

/** Ignores UTF-16, which cannot be declared in ASCII bytes. */
const prescan = (bytes: Uint8Array): string | undefined => {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, maxPrescanBytes)).replace(/<!--[\s\S]*?-->/g, "")
  const label = (xmlDeclared.exec(start) ?? declared.exec(start))?.[1]?.toLowerCase()
  if (label === "x-user-defined") return "windows-1252"
  return label?.startsWith("utf-16") ? "utf-8" : label
}

/** WHATWG order: byte-order mark, header, markup. Then UTF-8 if all bytes are valid, otherwise windows-1252. */
export const decodeText = (bytes: Uint8Array, charset: string | undefined, isMarkup: boolean): string => {
  const mark = byteOrderMarks.find(([start]) => start.every((byte, index) => bytes[index] === byte))?.[1]
  const decoder = decoderOf(mark) ?? decoderOf(charset) ?? decoderOf(isMarkup ? prescan(bytes) : undefined)
  if (decoder !== undefined) return decoder.decode(bytes)
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder("windows-1252").decode(bytes)
  }
}
