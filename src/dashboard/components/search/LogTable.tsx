import type { LoggedSearch } from "../../api/routes.ts"
import { home } from "../../app/router.ts"
import { formatDuration, formatMoment, formatNumber } from "../../format.ts"
import { Badge, OutcomeBadge } from "../ui/Badge.tsx"
import { type Column, Table } from "../ui/Table.tsx"

export interface LogTableProps {
  readonly caption: string
  readonly entries: ReadonlyArray<LoggedSearch>
  /** Shows row numbers instead of times, because the rows of a batch share one time. */
  readonly isBatch?: boolean
  readonly current?: string
}

const query = (current: string | undefined): Column<LoggedSearch> => ({
  name: "Query",
  isHeader: true,
  cell: ({ id, query }) => (
    <a class="clip" dir="auto" href={`${home}/log/${id}`} aria-current={id === current ? "page" : undefined}>
      {query || "(erased)"}
    </a>
  )
})

const when: Column<LoggedSearch> = {
  name: "When",
  cell: ({ created_at: at }) => (
    <time class="when" dateTime={at}>
      {formatMoment(at)}
    </time>
  )
}

const position: Column<LoggedSearch> = { name: "Row", isFigure: true, cell: ({ row }) => (row ?? 0) + 1 }

const others: ReadonlyArray<Column<LoggedSearch>> = [
  { name: "Target", cell: ({ target }) => <code>{target}</code> },
  {
    name: "Outcome",
    cell: ({ cached, status }) => (
      <span class="badges">
        <OutcomeBadge outcome={status} />
        {cached && <Badge text="cached" />}
      </span>
    )
  },
  { name: "Results", isFigure: true, cell: (entry) => formatNumber(entry.result_count) },
  { name: "Credits", isFigure: true, cell: ({ credits }) => formatNumber(credits) },
  { name: "Time", isFigure: true, cell: (entry) => formatDuration(entry.duration_ms) }
]

export const LogTable = ({ caption, current, entries, isBatch = false }: LogTableProps) => (
  <Table
    caption={caption}
    isCaptionHidden
    rows={entries}
    keyOf={({ id }) => id}
    columns={isBatch ? [position, query(current), ...others] : [query(current), ...others, when]}
  />
)
