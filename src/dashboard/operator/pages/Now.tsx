import { useMemo } from "preact/hooks"
import { call } from "../../api/client.ts"
import type { Answer } from "../../api/routes.ts"
import { now } from "../../app/clock.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { place, setQuery } from "../../app/router.ts"
import { StackedBars } from "../../components/credits/StackedBars.tsx"
import { Badge } from "../../components/ui/Badge.tsx"
import { Card } from "../../components/ui/Card.tsx"
import { Choice } from "../../components/ui/Choice.tsx"
import { Icon } from "../../components/ui/Icon.tsx"
import { PageHeader } from "../../components/ui/PageHeader.tsx"
import { Loaded } from "../../components/ui/States.tsx"
import { sum } from "../../credits/comparison.ts"
import { dayMs } from "../../credits/figures.ts"
import { formatNumber, formatStretch, plural } from "../../format.ts"
import { ActButton } from "../acts.tsx"
import { root, useLive } from "../console.ts"
import { forgetReplica } from "../offers.ts"
import { AsCommand, Details, RecordTable, Verified, When } from "../parts.tsx"

type State = Answer<"GET /v1/operator/now">
type Minute = State["series"][number]

interface Errors {
  readonly errors: Readonly<Record<string, number | undefined>>
}

const Problems = ({ problems }: Pick<State, "problems">) =>
  problems.length === 0 ? (
    <p class="notice info">
      <Badge kind="ok" text="No problems" /> The checks of <code>quarry status</code> found nothing.
    </p>
  ) : (
    <ul class="problems" aria-label="Problems">
      {problems.map(({ runbook, text }) => (
        <li key={text} class="problem">
          <Icon name="warning" />
          <p>
            {text} {runbook !== null && <span class="soft">Runbook: {runbook}</span>}
          </p>
        </li>
      ))}
    </ul>
  )

const max = (values: ReadonlyArray<number | null>): number => Math.max(0, ...values.map((value) => value ?? 0))

const errorColors = ["bad", "slow", "c5", "c4", "c3", "c2", "c6", "c7"]

const ranges = [
  { value: "", text: "24 hours" },
  { value: "1h", text: "1 hour" }
]

const failed = ({ errors }: Minute): number => sum(Object.values(errors))

/** Bars of a minute in the last hour, or of a quarter of an hour in the last 24 hours. Minutes without searches are left out of `series`. */
const Charts = ({ series }: Pick<State, "series">) => {
  const range = place.value.query.get("range") ?? ""
  const [size, count] = range === "1h" ? [1, 60] : [15, 96]
  const sizeMs = size * 60_000
  const end = Math.floor(now() / sizeMs)
  const bySlot = Map.groupBy(series, ({ at }) => Math.floor(Date.parse(at) / sizeMs))
  const slots = Array.from({ length: count }, (_, index) => end - count + 1 + index)
  const codes = [...new Set(slots.flatMap((slot) => (bySlot.get(slot) ?? []).flatMap((it) => Object.keys(it.errors))))]
  const barsOf = (valuesOf: (minutes: ReadonlyArray<Minute>) => ReadonlyArray<number>) =>
    slots.map((slot) => {
      const { short, whole } = formatStretch(slot * sizeMs, "hour")
      return { label: short, title: whole, values: valuesOf(bySlot.get(slot) ?? []), isUnfinished: slot === end }
    })
  const each = size === 1 ? "in each minute" : `in each ${size} minutes`
  const perMinute = (minutes: ReadonlyArray<Minute>, figureOf: (minute: Minute) => number): number =>
    Math.round((100 * sum(minutes.map(figureOf))) / size) / 100
  return (
    <div class="stack">
      <Choice legend="Time" value={range} options={ranges} onChange={(range) => setQuery({ range })} />
      <StackedBars
        title="Requests per minute"
        description={`Requests per minute by outcome, ${each}, in UTC`}
        unit="Time (UTC)"
        series={[
          { name: "succeeded", color: "ok" },
          ...codes.map((name, index) => ({ name, color: errorColors[index % errorColors.length] ?? "bad" }))
        ]}
        bars={barsOf((minutes) => [
          perMinute(minutes, (minute) => Math.max(0, minute.requests - failed(minute))),
          ...codes.map((code) => perMinute(minutes, ({ errors }: Errors) => errors[code] ?? 0))
        ])}
      />
      <StackedBars
        title="Latency in milliseconds"
        description={`Highest median and 95th percentile of a minute, ${each}, in UTC`}
        unit="Time (UTC)"
        height={140}
        series={[
          { name: "median", color: "c1" },
          { name: "more, up to the 95th percentile", color: "c3" }
        ]}
        bars={barsOf((minutes) => {
          const median = max(minutes.map(({ p50_ms: p50 }) => p50))
          return [median, Math.max(0, max(minutes.map(({ p95_ms: p95 }) => p95)) - median)]
        })}
      />
      <StackedBars
        title="Credits per minute"
        description={`Credits charged per minute, ${each}, in UTC`}
        unit="Time (UTC)"
        height={140}
        series={[{ name: "credits", color: "c4" }]}
        bars={barsOf((minutes) => [perMinute(minutes, ({ credits }) => credits)])}
      />
      <p class="soft">
        Counted from the log of searches and pages. A request that was refused before its search began, such as with
        401, 402 or 429, is not in it; the metrics have those.
      </p>
    </div>
  )
}

const Deployment = ({
  status: { database, holds, index, migrations, redis, replicas, version }
}: Pick<State, "status">) => (
  <div class="stack">
    <Details
      of={{
        version,
        database: database.reachable ? `${database.kind} ${database.version ?? ""}` : "unreachable",
        connections: database.connections && `${database.connections.used} of ${database.connections.max}`,
        migrations: migrations && `${migrations.applied.length} applied, ${migrations.pending.length} pending`,
        holds,
        redis: redis.state === "off" ? "not configured" : redis.state,
        index: index && (index.loading ? "loading" : "loaded")
      }}
    />
    <RecordTable
      caption="Replicas"
      rows={replicas ?? []}
      none="No replica is known"
      columns={{
        Replica: ({ id }) => <code>{id}</code>,
        Address: ({ address, host }) => address ?? host,
        Version: ({ commit, version }) => (commit === null ? version : `${version} (${commit.slice(0, 8)})`),
        Started: ({ started_at: at }) => at,
        State: ({ silent, silent_seconds: seconds }) =>
          silent ? (
            <Badge kind="bad" text={`silent for ${plural(seconds, "second")}`} />
          ) : (
            <Badge kind="ok" text="runs" />
          ),
        "Clock skew": ({ skew_ms: ms }) => `${formatNumber(ms)} ms`
      }}
      action={({ id, silent }) => silent && <ActButton isInRow offer={forgetReplica(id)} />}
    />
  </div>
)

const iso = (at: number): string => new Date(at).toISOString()

/** Later than this, no more searches of a minute are written to the log. Only later minutes are read again. */
const settledMs = 300_000

export const NowPage = () => {
  const resource = useRoute("GET /v1/operator/now", {})
  const latest = lastOf(resource.state.value)
  const readAt = useMemo(() => iso(now()), [latest])
  const refresh = async (): Promise<void> => {
    if (latest === undefined) return resource.refresh()
    const since = iso(Date.parse(readAt) - settledMs)
    const result = await call("GET /v1/operator/now", { query: { since } })
    if (!result.ok) return
    const day = iso(now() - dayMs)
    const earlier = latest.series.filter(({ at }) => at >= day && at < since)
    resource.state.value = {
      _tag: "ready",
      value: { ...result.value, series: [...earlier, ...result.value.series] }
    }
  }
  useLive({ refresh: () => void refresh() })
  const lead = latest && (
    <>
      Read at <When at={readAt} />, and again every 15 seconds.
    </>
  )
  return (
    <>
      <PageHeader title="Now" lead={lead} actions={<AsCommand line="quarry status" />} />
      <Loaded resource={resource} height={640}>
        {({ drift, problems, series, status }) => (
          <div class="stack">
            <Problems problems={problems} />
            <Card title="Requests, latency and credits">
              <Charts series={series} />
            </Card>
            <Card title="Deployment">
              <Deployment status={status} />
            </Card>
            <Card title="Ledger" action={<a href={`${root}/money`}>Verify it now</a>}>
              <Verified last={drift} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  )
}
