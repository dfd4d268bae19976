import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isFigure?: boolean
  readonly isHeader?: boolean
  /** Left out of narrow tables and of the cards on phones, because the row's own page shows it. */
  readonly isMinor?: boolean
  readonly isNameHidden?: boolean
  /** Left out of the narrowest tables, but not of the cards on phones. */
  readonly isRoomy?: boolean
}

/** The head of a column of buttons, which only screen readers need. */
export const actionHead = { name: "Actions", isNameHidden: true, isFigure: true } as const

export interface TableProps<Row> {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
  /** The key of the row that is shown beside the table, and what a click on a row does. */
  readonly current?: string | undefined
  readonly onRow?: (row: Row) => void
  /** One line for each row, under a head that stays. */
  readonly isDense?: boolean
}

const classesOf = <Row,>({ isFigure, isMinor, isRoomy }: Column<Row>): string | undefined =>
  [isFigure && "figure", isMinor && "minor", isRoomy && "roomy"].filter(Boolean).join(" ") || undefined

export const Table = <Row,>({ caption, columns, current, isDense, keyOf, onRow, rows }: TableProps<Row>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard (WCAG 2.1.1).
  <section class={isDense ? "table dense" : "table"} aria-label={caption} tabIndex={0}>
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" class={classesOf(column)}>
              {column.isNameHidden ? <span class="hidden">{column.name}</span> : column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            aria-current={current !== undefined && keyOf(row) === current ? "true" : undefined}
            onClick={
              onRow && (({ target }) => !(target instanceof Element && target.closest("a, button")) && onRow(row))
            }
          >
            {columns.map((column) => {
              const { cell, isFigure, isHeader, isNameHidden, name } = column
              const Cell = isHeader ? "th" : "td"
              return (
                <Cell
                  key={name}
                  scope={isHeader ? "row" : undefined}
                  class={classesOf(column)}
                  translate={isFigure ? false : undefined}
                  data-name={isNameHidden ? undefined : name}
                >
                  {cell(row)}
                </Cell>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
