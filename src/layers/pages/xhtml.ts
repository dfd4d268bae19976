import { Parser } from "htmlparser2"
import { ElementCount } from "./html/Tree.ts"

/** Elements without an end tag in HTML. */
const empty = new Set("area base br col embed hr img input link meta param source track wbr".split(" "))

const escapeText = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;")
const escapeAttribute = (value: string): string => value.replace(/"/g, "&quot;")

/**
 * Converts XHTML to HTML, which has no elements that close themselves: an HTML parser takes all that follows
 * `<script/>` for the script.
 */
export const htmlOfXml = (xml: string): string => {
  const parts: Array<string> = []
  const count = new ElementCount()
  let isRaw = false
  let inCdata = false
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const local = name.replace(/^(?:x?html|h):/i, "")
        count.add(Object.keys(attributes).length)
        const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`)
        parts.push(`<${local}${written.join("")}>`)
        isRaw = /^(?:script|style)$/i.test(local)
      },
      onclosetag: (name) => {
        const local = name.replace(/^(?:x?html|h):/i, "")
        if (!empty.has(local.toLowerCase())) parts.push(`</${local}>`)
        isRaw = false
      },
      // References such as `&nbsp;` are left to the HTML parser.
      ontext: (text) => parts.push(inCdata && !isRaw ? escapeText(text) : text),
      oncdatastart: () => {
        inCdata = true
      },
      oncdataend: () => {
        inCdata = false
      }
    },
    { xmlMode: true, decodeEntities: false }
  )
  parser.write(xml)
  parser.end()
  return `<!doctype html>${parts.join("")}`
}
