export type Cell = string | number

/** Spreadsheets run text that starts like this as a formula, so it is prefixed with an apostrophe. */
const formula = /^[=+\-@\t\r]/

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const cellText = (cell: Cell): string =>
  typeof cell === "number" ? String(cell) : quoted(formula.test(cell) ? `'${cell}` : cell)

export const csvOf = (rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")
