/** The last line of the answer to each piece of a file. */
export interface Counted {
  readonly written: number
  readonly failed: number
  readonly removed: number
  readonly problems: ReadonlyArray<{ readonly line: number; readonly problem: string }>
}

/** The server's limit. A replacement is one piece, because each would remove the documents of the others. */
export const maxBytes = 16 * 1024 * 1024

/** A piece must arrive within the server's 30 seconds. */
const pieceBytes = 4 * 1024 * 1024

const maxProblems = 20

const newline = 10

/** Cuts a file at the ends of lines. A line longer than a piece is cut too, and the server refuses its parts. */
export async function* piecesOf(file: Blob, size = pieceBytes): AsyncGenerator<Blob> {
  let start = 0
  while (start < file.size) {
    let end = Math.min(file.size, start + size)
    if (end < file.size) {
      const last = new Uint8Array(await file.slice(start, end).arrayBuffer()).lastIndexOf(newline)
      if (last >= 0) end = start + last + 1
    }
    yield file.slice(start, end, "application/x-ndjson")
    start = end
  }
}

export const addPiece = (all: Counted, piece: Counted): Counted => ({
  written: all.written + piece.written,
  failed: all.failed + piece.failed,
  removed: all.removed + piece.removed,
  problems: [...all.problems, ...piece.problems].slice(0, maxProblems)
})

/** The cast is safe: the server writes these lines. */
export const lastLineOf = (text: string): Counted | { readonly message: string } =>
  JSON.parse(text.trim().split("\n").at(-1) ?? "") as Counted | { readonly message: string }
