import { isTimeKnown, now } from "../../app/clock.ts"
import { lastOf, useRoute } from "../../app/resource.ts"
import { place, setQuery } from "../../app/router.ts"
import { barsOf, parametersOf, rangeOfBars, viewOf } from "../../credits/usageFigures.ts"
import { named, outcomeSeries, StackedBars } from "../credits/StackedBars.tsx"

const presets: Readonly<Record<string, string>> = { "1h": "24h", "24h": "24h", "7d": "7d" }

/** The ranges that the histogram covers. An hour is too short for bars, so its whole day is shown. */
const viewIn = (query: URLSearchParams) => {
  const [from, to] = [query.get("from"), query.get("to")]
  const isOwn = from !== null || to !== null
  return viewOf(
    new URLSearchParams({
      ...(isOwn
        ? { range: "own", from: from ?? "", to: to ?? "" }
        : { range: presets[query.get("range") ?? ""] ?? "30d" }),
      ...(query.get("key") && { group_by: "key", key: query.get("key") ?? "" }),
      ...(query.get("target") && { group_by: "target" })
    }),
    now()
  )
}

/** Searches over time above the log, for the key or target of the filters. Dragging over bars selects their range. */
export const LogHistogram = () => {
  const { query } = place.value
  const view = viewIn(query)
  const isReady = isTimeKnown.value || view.range === "own"
  const usage = lastOf(
    useRoute("GET /v1/usage", isReady ? { query: parametersOf(view, now()) } : undefined).state.value
  )
  const group = query.get("target") ?? query.get("key") ?? undefined
  const bars = usage === undefined ? [] : named(barsOf(usage, group, now()), usage.granularity)
  const select = (first: number, last: number): void => {
    const range = rangeOfBars(bars, first, last, now())
    if (range) setQuery({ range: undefined, cursor: undefined, ...range }, { replace: false })
  }
  return (
    <div class="histogram">
      <StackedBars
        isCompact
        title="Searches over time"
        description={`Searches by ${view.granularity} (UTC)`}
        unit={view.granularity}
        height={64}
        series={outcomeSeries}
        bars={bars}
        onPick={select}
      />
    </div>
  )
}
