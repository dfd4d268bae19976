/** The keys of a table. The cast holds for a table that is written out, whose type lists all of its keys. */
export const keysOf = <Table extends object>(table: Table): ReadonlyArray<keyof Table> =>
  Object.keys(table) as Array<keyof Table>
