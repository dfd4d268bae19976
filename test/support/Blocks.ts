import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = new URL("../../", import.meta.url)

export interface Block {
  /** The document, relative to the repository. */
  readonly document: string
  readonly line: number
  readonly language: string
  readonly text: string
}

/** The fenced blocks of code of a document of the repository. */
export const blocksOf = (document: string): ReadonlyArray<Block> => {
  const text = readFileSync(fileURLToPath(new URL(document, root)), "utf8")
  return Array.from(
    text.matchAll(/^( *)```([\w-]*)[^\n]*\n(.*?)^ *```$/gms),
    ({ 1: indent, 2: language, 3: body, index }) => ({
      document,
      line: text.slice(0, index).split("\n").length,
      language: language ?? "",
      text: (body ?? "").replaceAll(new RegExp(`^${indent}`, "gm"), "")
    })
  )
}
