export type DocumentKind = "html" | "text" | "markdown" | "json" | "xml" | "pdf"

export interface MediaType {
  readonly name: string
  readonly charset: string | undefined
}

export const readMediaType = (header: string): MediaType => {
  const [name = "", ...parameters] = header.split(";")
  const charset = parameters
    .map((each) => /^\s*charset\s*=\s*"?([^"]*)"?\s*$/i.exec(each)?.[1])
    .find((each) => each !== undefined)
  return { name: name.trim().toLowerCase(), charset }
}

const kinds: { readonly [name: string]: DocumentKind } = {
  "text/html": "html",
  "application/xhtml+xml": "html",
  "text/plain": "text",
  "text/markdown": "markdown",
  "text/x-markdown": "markdown",
  "application/json": "json",
  "text/json": "json",
  "application/xml": "xml",
  "text/xml": "xml",
  "application/pdf": "pdf",
  "application/x-pdf": "pdf"
}

/** Undefined for unsupported media types (R59). */
export const kindOf = (name: string): DocumentKind | undefined =>
  kinds[name] ?? (name.endsWith("+json") ? "json" : /^(?:application|text)\/.*\+xml$/.test(name) ? "xml" : undefined)
