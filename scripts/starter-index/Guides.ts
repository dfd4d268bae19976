import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Document } from "./Document.ts"
import { fields, string } from "./Document.ts"

/**
 * Pages that newcomers look for first, from `guides.jsonl`: their descriptions are written by hand, in words that people
 * search with. A page of MDN has the title that MDN gives it, which `mdnTitles` holds by address.
 */
export const guideDocuments = (mdnTitles: ReadonlyMap<string, string>): ReadonlyArray<Document> =>
  readFileSync(join(import.meta.dirname, "guides.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const guide = fields(JSON.parse(line))
      const url = string(guide.url)
      return { url, title: string(guide.title) || (mdnTitles.get(url) ?? ""), description: string(guide.description) }
    })
