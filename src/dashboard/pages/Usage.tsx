import { queryText } from "../api/client.ts"
import type { Key, Usage } from "../api/routes.ts"
import { isTimeKnown, now } from "../app/clock.ts"
import { useFresh } from "../app/freshness.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { isOneOf } from "../app/roles.ts"
import { home, navigate, place, setQuery } from "../app/router.ts"
import { saveCsv } from "../app/saveFile.ts"
import { me } from "../app/session.ts"
import { named, type Series, StackedBars } from "../components/credits/StackedBars.tsx"
import { UsageControls } from "../components/credits/UsageControls.tsx"
import { targetText } from "../components/search/TargetName.tsx"
import { outcomes as outcomeNames } from "../components/ui/Badge.tsx"
import { Button, ButtonLink } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { Stat } from "../components/ui/Stat.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { Table } from "../components/ui/Table.tsx"
import { changeOf, latenciesOf, latencySample, percentile, previousRange } from "../credits/comparison.ts"
import { type Cell, csvOf } from "../credits/csv.ts"
import {
  barsOf,
  byKind,
  drawnGroups,
  type Group,
  groupsOf,
  lastMoment,
  parametersOf,
  rangeOfBars,
  searchesIn,
  stretches,
  sumOf,
  toField,
  type View,
  viewOf
} from "../credits/usageFigures.ts"
import {
  formatChange,
  formatDayAndYear,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRatio,
  plural
} from "../format.ts"

type NameOf = (id: string | null) => string

const outcomes = ["ok", "upstream_error", "upstream_timeout", "page_unreadable"] as const
const outcomeSeries: ReadonlyArray<Series> = outcomes.map((name) => ({
  name: outcomeNames[name].text,
  // Its badge has the color of failures, which would look the same beside it in the chart.
  color: name === "page_unreadable" ? "c4" : outcomeNames[name].kind
}))

const units = { hour: "Hour (UTC)", day: "Day (UTC)", month: "Month (UTC)" } as const

const kinds: Readonly<Record<string, string>> = { search: "Searches", page: "Pages that were read" }

/** Keys that share a name get the last characters of their secret appended. */
const namesOf =
  (groupBy: View["groupBy"], keys: ReadonlyArray<Key>): NameOf =>
  (id) => {
    if (groupBy === "kind") return kinds[id ?? ""] ?? "none"
    if (groupBy === "member") return id ?? "nobody"
    if (groupBy !== "key") return id === null ? "none" : targetText(id)
    if (id === null) return "no key"
    const key = keys.find((key) => key.id === id)
    if (key === undefined) return `${id.slice(0, 12)}…`
    const isAlone = keys.filter(({ name }) => name === key.name).length === 1
    return isAlone ? key.name : `${key.name} (${key.hint.slice(-4)})`
  }

const visible = ({ series }: Usage, { groupBy, only }: View): ReadonlyArray<Group> =>
  groupsOf(
    groupBy === "kind" ? byKind(series) : only === undefined ? series : series.filter(({ group }) => group === only)
  )

const compared = (after: number, before: number | undefined): string | undefined => {
  if (before === undefined) return undefined
  const change = changeOf(after, before)
  return change === undefined
    ? `${formatNumber(before)} in the period before`
    : `${formatChange(change)} from ${formatNumber(before)}`
}

const Latency = ({
  from,
  only,
  to
}: {
  readonly from: string
  readonly to: string
  readonly only: string | undefined
}) => {
  const entries = lastOf(
    useRoute("GET /v1/query/history", { query: { from, to, key: only, limit: latencySample } }).state.value
  )?.queries
  const durations = latenciesOf(entries ?? [])
  const shown = (share: number): string => {
    const value = percentile(durations, share)
    return value === undefined ? "–" : formatDuration(value)
  }
  const note = durations.length === 0 ? undefined : `of the newest ${plural(durations.length, "uncached request")}`
  return (
    <>
      <Stat name="Median latency" value={shown(0.5)} note={note} />
      <Stat name="p95 latency" value={shown(0.95)} note={note} />
    </>
  )
}

interface TotalsProps {
  readonly groups: ReadonlyArray<Group>
  readonly before: ReadonlyArray<Group> | undefined
  readonly usage: Usage
  readonly view: View
}

const Totals = ({ before, groups, usage, view }: TotalsProps) => {
  const { from, to } = usage
  const earlier = before && sumOf(before)
  const { credits, outcomes, searches } = sumOf(groups)
  return (
    <dl class="stats">
      <Stat name="Searches" value={formatNumber(searches)} note={compared(searches, earlier?.searches)} />
      <Stat name="Credits" value={formatNumber(credits)} note={compared(credits, earlier?.credits)} />
      <Stat
        name="Succeeded"
        value={searches === 0 ? "–" : formatPercent(outcomes.ok / searches)}
        note={searches === 0 ? undefined : plural(outcomes.ok, "search", "searches")}
      />
      <Stat
        name="Failed"
        value={formatNumber(searches - outcomes.ok)}
        note={`${formatNumber(outcomes.upstream_timeout)} timed out, ${formatNumber(outcomes.page_unreadable)} unreadable`}
      />
      {isOneOf("readers") && <Latency from={from} to={to} only={view.only} />}
    </dl>
  )
}

interface ChartProps {
  readonly usage: Usage
  readonly before?: { readonly usage: Usage; readonly groups: ReadonlyArray<Group> } | undefined
  readonly view: View
  readonly groups: ReadonlyArray<Group>
  readonly nameOf: NameOf
}

const spanOf = (usage: Usage): string => `${formatDayAndYear(usage.from)} to ${formatDayAndYear(lastMoment(usage))}`

/** A click on a bar leads to its rows in the log. Dragging over several shows their range here. */
const pick = (bars: Parameters<typeof rangeOfBars>[0], view: View, first: number, last: number): void => {
  const range = rangeOfBars(bars, first, last, now())
  if (range === undefined) return
  const to = range.to ?? new Date(now()).toISOString()
  if (first === last) navigate(`${home}/log${queryText({ ...range, key: view.only })}`)
  else setQuery({ range: "own", granularity: undefined, from: toField(range.from), to: toField(to) }, {})
}

const rowsOf = (groups: ReadonlyArray<Group>) => groups.flatMap(({ rows }) => rows)

const Chart = ({ before, groups, nameOf, usage, view }: ChartProps) => {
  const bars = named(barsOf(usage, undefined, now()), usage.granularity)
  const starts = bars.map(({ start }) => start)
  const searchesBefore = before && searchesIn(rowsOf(before.groups), stretches(before.usage))
  const { drawn, others } = drawnGroups(groups)
  const shown = others === undefined ? drawn : [...drawn, others]
  const isByOutcome = view.groupBy === "outcome"
  const columns = isByOutcome
    ? outcomes.map((name) => searchesIn(rowsOf(groups), starts, ({ outcomes }) => outcomes[name]))
    : shown.map(({ rows }) => searchesIn(rows, starts))
  const series = isByOutcome
    ? outcomeSeries
    : shown.map((group, index) => ({
        name: group === others ? "all others" : nameOf(group.id),
        color: `c${index + 1}`
      }))
  return (
    <StackedBars
      title={`Searches by ${usage.granularity} and ${view.groupBy}`}
      description={`Searches by ${usage.granularity}, from ${spanOf(usage)}, split by ${view.groupBy}`}
      unit={units[usage.granularity]}
      height={280}
      series={series}
      bars={bars.map((bar, index) => ({
        ...bar,
        values: columns.map((values) => values[index] ?? 0),
        before: searchesBefore?.[index]
      }))}
      onPick={(first, last) => pick(bars, view, first, last)}
    />
  )
}

const groupHeads = { outcome: "Outcome", kind: "Kind", target: "Target", key: "Key", member: "Member" } as const

const Breakdown = ({ groups, nameOf, view }: Omit<ChartProps, "usage" | "before">) => {
  const all = groups.reduce((sum, { searches }) => sum + searches, 0)
  return (
    <Table
      caption={`By ${view.groupBy}`}
      rows={groups}
      keyOf={({ id }) => id ?? ""}
      columns={[
        { name: groupHeads[view.groupBy], isHeader: true, cell: ({ id }) => <bdi>{nameOf(id)}</bdi> },
        { name: "Searches", isFigure: true, cell: ({ searches }) => formatNumber(searches) },
        { name: "Share", isFigure: true, cell: ({ searches }) => formatPercent(searches / Math.max(1, all)) },
        { name: "Credits", isFigure: true, cell: ({ credits }) => formatNumber(credits) },
        {
          name: "Credits each",
          isFigure: true,
          cell: ({ credits, searches }) => formatRatio(credits / Math.max(1, searches))
        },
        {
          name: "Failed",
          isFigure: true,
          cell: ({ id, outcomes, searches }) => {
            const text = `${formatNumber(outcomes.upstream_error)} (${formatPercent(outcomes.upstream_error / Math.max(1, searches))})`
            if (id === null || !["target", "key"].includes(view.groupBy) || outcomes.upstream_error === 0) return text
            return <a href={`${home}/log${queryText({ [view.groupBy]: id, status: "upstream_error" })}`}>{text}</a>
          }
        },
        { name: "Timed out", isFigure: true, cell: ({ outcomes }) => formatNumber(outcomes.upstream_timeout) },
        { name: "Unreadable", isFigure: true, cell: ({ outcomes }) => formatNumber(outcomes.page_unreadable) }
      ]}
    />
  )
}

const csvRows = (groups: ReadonlyArray<Group>, view: View, nameOf: NameOf): ReadonlyArray<ReadonlyArray<Cell>> => {
  const isGrouped = view.groupBy !== "outcome"
  const heads = view.groupBy === "key" ? ["key", "key_id"] : isGrouped ? [view.groupBy] : []
  const groupCells = (id: string | null): ReadonlyArray<Cell> =>
    view.groupBy === "key" ? [nameOf(id), id ?? ""] : isGrouped ? [id ?? "none"] : []
  const rows = rowsOf(groups).sort((a, b) => a.start.localeCompare(b.start))
  return [
    ["start", ...heads, "searches", "credits", ...outcomes],
    ...rows.map((row) => [
      row.start,
      ...groupCells(row.group),
      row.searches,
      row.credits,
      ...outcomes.map((name) => row.outcomes[name])
    ])
  ]
}

const Nothing = ({ view }: { readonly view: View }) => (
  <EmptyState
    title="No searches in this range"
    action={<ButtonLink href={`${home}/playground`} text="Search in the playground" />}
  >
    {view.only === undefined ? "Choose a longer range or run a search." : "Choose a longer range or show all keys."}
  </EmptyState>
)

const Report = ({ groups, nameOf, usage, view }: ChartProps) => {
  const { granularity } = usage
  const range = previousRange(usage.from, usage.to, granularity)
  const group_by = usage.group_by ?? undefined
  const earlier = lastOf(useRoute("GET /v1/usage", { query: { ...range, granularity, group_by } }).state.value)
  const before = earlier && { usage: earlier, groups: visible(earlier, view) }
  return (
    <div class="stack">
      <Card title="Totals">
        <Totals groups={groups} before={before?.groups} usage={usage} view={view} />
      </Card>
      <Card title="Over time">
        {groups.length === 0 ? (
          <Nothing view={view} />
        ) : (
          <>
            <Chart before={before} groups={groups} nameOf={nameOf} usage={usage} view={view} />
            <p class="soft note">Click a bar to see its searches in the log. Drag over several to zoom in.</p>
          </>
        )}
      </Card>
      {view.groupBy !== "outcome" && groups.length > 0 && (
        <Card title={`By ${view.groupBy}`}>
          <Breakdown groups={groups} nameOf={nameOf} view={view} />
        </Card>
      )}
    </div>
  )
}

const dayOf = (iso: string): string => iso.slice(0, 10)

export const UsagePage = () => {
  const asked = viewOf(place.value.query, now())
  const needsTime = asked.range !== "default" && asked.range !== "own"
  const isReady = !needsTime || isTimeKnown.value
  const resource = useRoute("GET /v1/usage", isReady ? { query: parametersOf(asked, now()) } : undefined)
  const keys = lastOf(useRoute("GET /v1/api-keys", isOneOf("readers") ? {} : undefined).state.value)?.api_keys ?? []
  useFresh("usage", resource.reload)
  const state = resource.state.value
  const usage = lastOf(state)
  // The previous response stays visible while the next one loads, so it must keep its own grouping.
  const groupBy = usage?.group_by === "target" && asked.groupBy === "kind" ? "kind" : (usage?.group_by ?? "outcome")
  const view: View = usage === undefined ? asked : { ...asked, groupBy }
  const nameOf = namesOf(view.groupBy, keys)
  const groups = usage === undefined ? [] : visible(usage, view)
  const download = (): void => {
    const days = usage === undefined ? "" : `${dayOf(usage.from)}-${dayOf(lastMoment(usage))}`
    saveCsv(`quarry-usage-${days}.csv`, csvOf(csvRows(groups, view, nameOf)))
  }
  const issues = state._tag === "failed" ? state.error.issues : {}
  return (
    <>
      <PageHeader
        title="Usage"
        lead={usage === undefined ? "All times are in UTC." : `${spanOf(usage)}. All times are in UTC.`}
        actions={
          <Button disabled={groups.length === 0} onClick={download}>
            Download CSV
          </Button>
        }
      />
      <div class="stack">
        <UsageControls view={asked} shown={usage} keys={keys} isTrial={me.value?.plan === "trial"} issues={issues} />
        <h2 class="hidden">Usage figures</h2>
        {asked.range === "own" && Object.keys(issues).length > 0 ? (
          <EmptyState title="Invalid range">Choose a different start or end.</EmptyState>
        ) : (
          <Loaded resource={resource} height={520}>
            {(usage) => <Report usage={usage} view={view} groups={visible(usage, view)} nameOf={nameOf} />}
          </Loaded>
        )}
      </div>
    </>
  )
}
