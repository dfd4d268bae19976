import type { Key, LoggedSearch } from "../../api/routes.ts"
import { home } from "../../app/router.ts"
import { formatDuration, formatNumber, formatShortMoment } from "../../format.ts"
import { Outcome } from "../ui/Badge.tsx"
import { type Column, Table } from "../ui/Table.tsx"
import { TargetName } from "./TargetName.tsx"

export interface LogTableProps {
  readonly caption: string
  readonly entries: ReadonlyArray<LoggedSearch>
  readonly keys: ReadonlyArray<Key>
  /** Shows row numbers instead of times, because the rows of a batch share one time. */
  readonly isBatch?: boolean
  readonly current?: string | undefined
  readonly onRow?: (entry: LoggedSearch) => void
}

const query = (current: string | undefined): Column<LoggedSearch> => ({
  name: "Query",
  isHeader: true,
  cell: ({ id, query }) => (
    <a id={id} class="clip" dir="auto" href={`${home}/log/${id}`} aria-current={id === current ? "page" : undefined}>
      {query || "(erased)"}
    </a>
  )
})

const when: Column<LoggedSearch> = {
  name: "When",
  isFigure: true,
  cell: ({ created_at: at }) => (
    <time class="when" dateTime={at}>
      {formatShortMoment(at)}
    </time>
  )
}

const position: Column<LoggedSearch> = { name: "Row", isFigure: true, cell: ({ row }) => (row ?? 0) + 1 }

export const keyNameOf = (keys: ReadonlyArray<Key>, { key_id: id }: LoggedSearch): string =>
  id === null ? "no key" : (keys.find((key) => key.id === id)?.name ?? `${id.slice(0, 12)}…`)

const caller = (keys: ReadonlyArray<Key>): Column<LoggedSearch> => ({
  name: "Key and source",
  isRoomy: true,
  cell: (entry) => (
    <span class="caller clip">
      <bdi>{keyNameOf(keys, entry)}</bdi> <span class="soft">{entry.source}</span>
    </span>
  )
})

const others: ReadonlyArray<Column<LoggedSearch>> = [
  { name: "Target", cell: ({ target }) => <TargetName target={target} /> },
  { name: "Outcome", cell: (entry) => <Outcome {...entry} /> }
]

const figures: ReadonlyArray<Column<LoggedSearch>> = [
  {
    name: "Results",
    isFigure: true,
    isMinor: true,
    cell: (entry) => (entry.kind === "page" ? "–" : formatNumber(entry.result_count))
  },
  { name: "Credits", isFigure: true, isMinor: true, cell: ({ credits }) => formatNumber(credits) },
  { name: "Latency", isFigure: true, cell: (entry) => formatDuration(entry.duration_ms) }
]

export const LogTable = ({ caption, current, entries, isBatch = false, keys, onRow }: LogTableProps) => (
  <Table
    caption={caption}
    rows={entries}
    keyOf={({ id }) => id}
    isDense
    {...(onRow && { onRow, current })}
    columns={
      isBatch
        ? [position, query(current), ...others, ...figures]
        : [query(undefined), ...others, caller(keys), ...figures, when]
    }
  />
)
