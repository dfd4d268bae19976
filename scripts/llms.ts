import { readFileSync, writeFileSync } from "node:fs"

/*
 * Writes llms.txt, an index of the documents for programs (https://llmstxt.org), and llms-full.txt, their text. The order is
 * that of docs/README.md. A test fails when they are not current; the server serves both.
 */

const root = new URL("../", import.meta.url)

const read = (path: string): string => readFileSync(new URL(path, root), "utf8")

/** The section of docs/README.md that only people who change Quarry need. */
const leftSection = "Internals"

interface Entry {
  readonly section: string
  readonly path: string
}

/** Paths that docs/README.md links to, each once, from the root of the repository. */
const entriesOf = (index: string): ReadonlyArray<Entry> => {
  const entries = new Map<string, Entry>()
  let section = ""
  for (const line of index.split("\n")) {
    section = /^## (.*)/.exec(line)?.[1] ?? section
    for (const [, link = ""] of line.matchAll(/\]\((?!https?:)([^)#\s]+)/g)) {
      const path = new URL(link, new URL("docs/", root)).pathname.slice(root.pathname.length)
      if (path.endsWith(".md") && section !== leftSection && !entries.has(path)) entries.set(path, { section, path })
    }
  }
  return [...entries.values()]
}

const titleOf = (text: string): string => /^# (.*)$/m.exec(text)?.[1] ?? ""

/** The first sentence after the title. */
const summaryOf = (text: string): string => {
  const [, paragraph = ""] = text.split("\n\n", 2)
  const plain = paragraph.replaceAll(/\s+/g, " ").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
  return /^[^|`#<!-].*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? ""
}

const about =
  "Quarry is a web-search API that you host yourself: GET /v1/query?query=… with `Authorization: Bearer <API key>` answers as " +
  "JSON. It has batches, pages as text, an MCP server at /mcp, keys, credits, billing and a dashboard."

export const makeIndex = (): string => {
  const lines = ["# Quarry", "", `> ${about}`, ""]
  let section = ""
  for (const entry of [{ section: "Start", path: "README.md" }, ...entriesOf(read("docs/README.md"))]) {
    if (entry.section !== section) lines.push(...(section === "" ? [] : [""]), `## ${entry.section}`, "")
    section = entry.section
    const text = read(entry.path)
    const summary = summaryOf(text)
    lines.push(`- [${titleOf(text)}](${entry.path})${summary === "" ? "" : `: ${summary}`}`)
  }
  return `${[...lines, "", "## Optional", "", "- [All of these pages in one file](llms-full.txt)", "- [OpenAPI document](openapi.json)"].join("\n")}\n`
}

export const makeFull = (): string =>
  ["README.md", ...entriesOf(read("docs/README.md")).map(({ path }) => path)]
    .map((path) => `<!-- ${path} -->\n\n${read(path).trim()}\n`)
    .join("\n")

if (import.meta.main) {
  writeFileSync(new URL("llms.txt", root), makeIndex())
  writeFileSync(new URL("llms-full.txt", root), makeFull())
}
