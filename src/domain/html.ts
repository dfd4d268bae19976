/** Trusted markup. All other values in a template are escaped. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escapeText = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "")

type Part = Html | string | undefined | ReadonlyArray<Html>

const textOf = (part: Part): string => {
  if (part === undefined) return ""
  if (part instanceof Html) return part.text
  return typeof part === "string" ? escapeText(part) : part.map(textOf).join("")
}

export const html = (strings: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html =>
  new Html(strings.map((string, index) => string + textOf(parts[index])).join(""))
