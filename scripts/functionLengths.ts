import { globSync, readFileSync } from "node:fs"
import ts from "typescript5"

/*
 * Fails when a function of src/ or simulation/ has more than 70 lines. Biome's rule for this does not count the lines
 * inside template literals, which is where the SQL is.
 */

export const maxLines = 70

/** The functions of a source text with more than `maxLines` lines, one line each. */
export const longFunctions = (file: string, text: string): ReadonlyArray<string> => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const found: Array<string> = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
      const lines = source.getLineAndCharacterOfPosition(node.getEnd()).line - first + 1
      if (lines > maxLines) found.push(`${file}:${first + 1} has a function of ${lines} lines, more than ${maxLines}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

if (import.meta.main) {
  const found = globSync("{src,simulation}/**/*.{ts,tsx}").flatMap((file) =>
    longFunctions(file, readFileSync(file, "utf8"))
  )
  for (const line of found) console.error(line)
  process.exitCode = found.length === 0 ? 0 : 1
}
