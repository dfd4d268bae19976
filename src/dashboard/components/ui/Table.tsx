import type { ComponentChildren } from "preact"

export interface Column<Row> {
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isFigure?: boolean
  readonly isHeader?: boolean
  /** Left out of the cards on phones, because the row's own page shows it. */
  readonly isMinor?: boolean
  readonly isNameHidden?: boolean
}

/** The head of a column of buttons, which only screen readers need. */
export const actionHead = { name: "Actions", isNameHidden: true, isFigure: true } as const

export interface TableProps<Row> {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
}

export const Table = <Row,>({ caption, columns, keyOf, rows }: TableProps<Row>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard (WCAG 2.1.1).
  <section class="table" aria-label={caption} tabIndex={0}>
    <table>
      <caption class="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ isFigure, isNameHidden, name }) => (
            <th key={name} scope="col" class={isFigure ? "figure" : undefined}>
              {isNameHidden ? <span class="hidden">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ cell, isFigure, isHeader, isMinor, isNameHidden, name }) => {
              const Cell = isHeader ? "th" : "td"
              return (
                <Cell
                  key={name}
                  scope={isHeader ? "row" : undefined}
                  class={[isFigure && "figure", isMinor && "minor"].filter(Boolean).join(" ") || undefined}
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
