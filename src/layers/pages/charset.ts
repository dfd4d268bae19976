import { Parser } from "htmlparser2"

const maxPrescanBytes = 64 * 1024

/** Decodes by the WHATWG Encoding Standard. The runtime's decoder uses ICU's tables, which lack characters. */
const loadLegacy = () => import("@exodus/bytes/encoding.js")

const latin1 = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes.subarray(0, maxPrescanBytes))

const xmlDeclared = /^\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([^"']{1,100})/i
const inContent = /charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))/i

/** The labels that `meta` elements declare, in order. A description may mention a charset without declaring it. */
const metaLabels = (start: string): ReadonlyArray<string> => {
  const labels: Array<string> = []
  const parser = new Parser({
    onopentag: (name, { charset, content = "", "http-equiv": pragma = "" }) => {
      if (name !== "meta") return
      const [, double, single, plain] =
        pragma.trim().toLowerCase() === "content-type" ? (inContent.exec(content) ?? []) : []
      const label = charset ?? double ?? single ?? plain
      if (label !== undefined) labels.push(label)
    }
  })
  parser.write(start)
  parser.end()
  return labels
}

/** `isXml` prefers the XML declaration. Browsers read one in HTML too if no `meta` has a known label. */
const declaredLabels = (bytes: Uint8Array, isXml: boolean): ReadonlyArray<string> => {
  const start = latin1(bytes)
  const xml = xmlDeclared.exec(start)?.[1]
  const labels = isXml && xml !== undefined ? [] : metaLabels(start)
  // UTF-16 cannot be declared in ASCII bytes.
  return [...labels, ...(xml === undefined ? [] : [xml])].map((label) =>
    /^\s*(?:utf-?16|unicode|ucs-2|iso-10646-ucs-2|csunicode)/i.test(label) ? "utf-8" : label
  )
}

const isUtf8 = (label: string): boolean =>
  /^\s*(?:utf-?8|unicode-1-1-utf-8|unicode11utf8|unicode20utf8|x-unicode20utf8)\s*$/i.test(label)

const markOf = (bytes: Uint8Array): string | undefined =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
    ? "utf-8"
    : bytes[0] === 0xfe && bytes[1] === 0xff
      ? "utf-16be"
      : bytes[0] === 0xff && bytes[1] === 0xfe
        ? "utf-16le"
        : undefined

/** Fails for the labels that the standard does not decode ("replacement"), which it replaces by one error. */
const decodeAs = async (bytes: Uint8Array, label: string): Promise<string | undefined> => {
  if (isUtf8(label)) return new TextDecoder().decode(bytes)
  const { TextDecoder: Decoder, normalizeEncoding } = await loadLegacy()
  const name = /^\s*x-user-defined\s*$/i.test(label) ? "windows-1252" : normalizeEncoding(label.trim())
  return name === null || name === "replacement" ? undefined : new Decoder(name).decode(bytes)
}

/** WHATWG order: byte-order mark, header, markup. Then UTF-8 if all bytes are valid, otherwise windows-1252. */
export const decodeText = async (
  bytes: Uint8Array,
  charset: string | undefined,
  markup: "html" | "xml" | undefined
): Promise<string> => {
  const mark = markOf(bytes)
  for (const label of [mark, charset]) {
    const text = label === undefined ? undefined : await decodeAs(bytes, label)
    if (text !== undefined) return text
  }
  for (const label of markup === undefined ? [] : declaredLabels(bytes, markup === "xml")) {
    const text = await decodeAs(bytes, label)
    if (text !== undefined) return text
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return (await decodeAs(bytes, "windows-1252")) ?? ""
  }
}
