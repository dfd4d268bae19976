/** Tables as CSV (RFC 4180), for spreadsheets. */

export type Cell = string | number

/** A spreadsheet takes a text that begins so for a formula, and runs it: such a text gets an apostrophe before it. */
const formula = /^[=+\-@\t\r]/

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const cellText = (cell: Cell): string =>
  typeof cell === "number" ? String(cell) : quoted(formula.test(cell) ? `'${cell}` : cell)

/** One line for each row, each ended by CRLF. */
export const csvOf = (rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")
