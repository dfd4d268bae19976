import { useEffect, useState } from "preact/hooks"
import { call } from "../../api/client.ts"
import type { Usage } from "../../api/routes.ts"
import { isTimeKnown, now } from "../../app/clock.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { isOneOf } from "../../app/roles.ts"
import { epoch } from "../../app/session.ts"
import {
  compareFailures,
  compareWithUsual,
  latenciesOf,
  latencySample,
  mean,
  percentile,
  rateOf,
  sum,
  type Verdict
} from "../../credits/comparison.ts"
import { burnDown, dayMs, startOfDay } from "../../credits/figures.ts"
import { type Day, daysOf } from "../../credits/usageFigures.ts"
import { formatDuration, formatNumber, formatPercent, formatRelative, plural } from "../../format.ts"
import { type Spark, Stat } from "../ui/Stat.tsx"

/** Today and the seven days before it. */
const days = 8

/** Latencies of days that are over, which do not change. By the start of the day. */
const pastLatencies = new Map<number, number | undefined>()

const readLatency = async (start: number): Promise<number | undefined> => {
  if (pastLatencies.has(start)) return pastLatencies.get(start)
  const [from, to] = [start, start + dayMs].map((at) => new Date(at).toISOString())
  const result = await call("GET /v1/query/history", { query: { from, to, limit: latencySample } })
  if (!result.ok) return undefined
  const value = percentile(latenciesOf(result.value.queries), 0.95)
  if (start + dayMs < now()) pastLatencies.set(start, value)
  return value
}

/** The 95th percentile of each of these days that has searches; today's is read first. */
const useLatencies = (all: ReadonlyArray<Day>): ReadonlyMap<number, number> => {
  const [known, setKnown] = useState<ReadonlyMap<number, number>>(new Map())
  const starts = all.filter(({ searches }) => searches > 0).map(({ start }) => start)
  useEffect(() => {
    let hasLeft = false
    const read = async (): Promise<void> => {
      for (const start of starts.toReversed()) {
        const value = await readLatency(start)
        if (hasLeft) return
        if (value !== undefined) setKnown((known) => new Map([...known, [start, value]]))
      }
    }
    void read()
    return () => {
      hasLeft = true
    }
  }, [starts.join(), epoch.value])
  return known
}

const verdictText = (verdict: Verdict, usual: string): string =>
  verdict === undefined
    ? "too few to compare"
    : verdict === "usual"
      ? `as usual (${usual})`
      : `${verdict} than usual (${usual})`

const sparkOf = (format: (value: number) => string, values: ReadonlyArray<number>): Spark => ({
  values,
  text: `Last ${days} days: ${values.map(format).join(", ")}`
})

const creditsNote = ({ quota, remaining, resets_at: reset }: Usage): string =>
  remaining === null
    ? "no limit"
    : quota === null || reset === null
      ? "they do not renew"
      : `of ${formatNumber(quota)}, renews ${formatRelative(reset)}`

const Credits = ({ usage, week }: { readonly usage: Usage | undefined; readonly week: ReadonlyArray<Day> }) => {
  if (usage === undefined) return <Stat name="Credits left" value="…" />
  const { balance, remaining } = usage
  if (remaining === null) return <Stat name="Credits left" value="Not limited" />
  const left = remaining + balance
  const period = burnDown(usage, now()).map((quota) => quota + balance)
  // The trial has no period. There, count backwards from what is left.
  const trial = week.map((_, index) => left + sum(week.slice(index + 1).map(({ credits }) => credits)))
  const packs = balance > 0 ? `, with ${plural(balance, "pack credit")}` : ""
  return (
    <Stat
      name="Credits left"
      value={formatNumber(left)}
      note={`${creditsNote(usage)}${packs}`}
      spark={sparkOf(formatNumber, period.length > 0 ? period.slice(-days) : trial)}
    />
  )
}

const Searches = ({ week }: { readonly week: ReadonlyArray<Day> }) => {
  const [today, before] = [week.at(-1), week.slice(0, -1).map(({ soFar }) => soFar)]
  return (
    <Stat
      name="Searches today (UTC)"
      value={formatNumber(today?.searches ?? 0)}
      note={verdictText(
        compareWithUsual(today?.searches ?? 0, before),
        `${formatNumber(Math.round(mean(before)))} by this time`
      )}
      spark={sparkOf(
        formatNumber,
        week.map(({ searches }) => searches)
      )}
    />
  )
}

const FailureRate = ({ week }: { readonly week: ReadonlyArray<Day> }) => {
  const today = week.at(-1) ?? { failed: 0, searches: 0 }
  const before = {
    failed: sum(week.slice(0, -1).map(({ failed }) => failed)),
    searches: sum(week.slice(0, -1).map(({ searches }) => searches))
  }
  const verdict = compareFailures(today, before)
  return (
    <Stat
      name="Failed today"
      value={today.searches === 0 ? "–" : formatPercent(rateOf(today))}
      note={`${formatNumber(today.failed)} failed, ${verdictText(verdict, formatPercent(rateOf(before)))}`}
      isBad={verdict === "higher"}
      spark={sparkOf(formatPercent, week.map(rateOf))}
    />
  )
}

const Latency = ({ week }: { readonly week: ReadonlyArray<Day> }) => {
  const known = useLatencies(week)
  const values = week.flatMap(({ start }) => known.get(start) ?? [])
  const today = known.get(week.at(-1)?.start ?? 0)
  const before = week.slice(0, -1).flatMap(({ start }) => known.get(start) ?? [])
  const verdict = today === undefined ? undefined : compareWithUsual(today, before)
  return (
    <Stat
      name="p95 latency today"
      value={today === undefined ? "–" : formatDuration(today)}
      note={verdictText(verdict, formatDuration(mean(before)))}
      isBad={verdict === "higher"}
      spark={sparkOf(formatDuration, values)}
    />
  )
}

/** What the account has left and how today compares with the week before. */
export const Figures = ({ usage }: { readonly usage: Usage | undefined }) => {
  const from = new Date(Date.parse(startOfDay(now())) - (days - 1) * dayMs).toISOString()
  const hours = useRoute("GET /v1/usage", isTimeKnown.value ? { query: { from, granularity: "hour" } } : undefined)
  const week = daysOf(lastOf(hours.state.value)?.series ?? [], now())
  return (
    <section class="card wide" aria-label="At a glance">
      <h2 class="hidden">At a glance</h2>
      <dl class="stats figures">
        <Credits usage={usage} week={week} />
        <Searches week={week} />
        <FailureRate week={week} />
        {isOneOf("readers") && <Latency week={week} />}
      </dl>
    </section>
  )
}
