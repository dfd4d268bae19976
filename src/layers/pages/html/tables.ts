import { attribute, type Element, findElement, isElement } from "./Tree.ts"

/** Every row has as many cells as the widest. */
export const maxColumns = 50

const maxRepeatedRows = 1_000

const wide = new Set(["table", "pre", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"])

/** True for content that does not fit on the line of a Markdown table. */
export const hasWideContent = (cell: Element): boolean =>
  findElement(cell, ({ tagName }) => wide.has(tagName)) !== undefined

const rowsOf = (table: Element): ReadonlyArray<ReadonlyArray<Element>> => {
  const rows: Array<ReadonlyArray<Element>> = []
  for (const child of table.childNodes) {
    if (!isElement(child)) continue
    if (child.tagName === "tr") rows.push(child.childNodes.filter(isElement))
    else if (/^t(?:head|body|foot)$/.test(child.tagName)) rows.push(...rowsOf(child))
  }
  return rows.filter((cells) => cells.length > 0)
}

export const cellsOf = (table: Element): ReadonlyArray<Element> => rowsOf(table).flat()

const spanOf = (cell: Element, name: "colspan" | "rowspan", most: number): number => {
  const span = Number.parseInt(attribute(cell, name) ?? "1", 10)
  // Zero means all rows that follow.
  return span === 0 && name === "rowspan" ? most : Math.min(Math.max(1, span || 1), most)
}

export interface Table {
  readonly columns: number
  /** Each cell is in all rows and columns that it spans, so that each value is below its headers. */
  readonly rows: ReadonlyArray<ReadonlyArray<Element | undefined>>
}

export const tableOf = (table: Element): Table => {
  const source = rowsOf(table)
  const grid = source.map((): Array<Element | undefined> => [])
  source.forEach((cells, rowIndex) => {
    let column = 0
    for (const cell of cells) {
      const row = grid[rowIndex] ?? []
      while (row[column] !== undefined) column++
      if (column > maxColumns) break
      const width = spanOf(cell, "colspan", maxColumns)
      const height = cells.length === 1 && width > 1 ? 1 : spanOf(cell, "rowspan", maxRepeatedRows)
      // A cell alone in its row is a title of the rows below it.
      const repeated = cells.length === 1 ? 1 : width
      for (const each of grid.slice(rowIndex, rowIndex + height)) {
        for (let at = column; at < column + repeated; at++) each[at] = cell
      }
      column += width
    }
  })
  const columns = grid.reduce((most, { length }) => Math.max(most, length), 0)
  return { columns, rows: grid.map((row) => Array.from({ length: columns }, (_, index) => row[index])) }
}
