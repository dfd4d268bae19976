import { queryText } from "../api/client.ts"
import type { Usage } from "../api/routes.ts"
import { isTimeKnown, now } from "../app/clock.ts"
import { areStepsHidden } from "../app/preferences.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { isOneOf } from "../app/roles.ts"
import { home, navigate } from "../app/router.ts"
import { named, outcomeSeries, StackedBars } from "../components/credits/StackedBars.tsx"
import { Figures } from "../components/overview/Figures.tsx"
import { FirstSteps } from "../components/overview/FirstSteps.tsx"
import { Problems } from "../components/overview/Problems.tsx"
import { LogTable } from "../components/search/LogTable.tsx"
import { ButtonLink } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { forecast, startOfDay } from "../credits/figures.ts"
import { barsOf, rangeOfBars } from "../credits/usageFigures.ts"
import { formatDayAndYear, plural } from "../format.ts"

const recentEntries = 8

const forecastText = (usage: Usage): string | undefined => {
  const result = forecast(usage, now())
  if (result === undefined) return undefined
  return result._tag === "runsOut"
    ? `At this pace you run out of quota on ${formatDayAndYear(new Date(result.at).toISOString())}, before the reset.`
    : `At this pace you will have ${plural(result.left, "credit")} left at the reset.`
}

const Period = ({ usage }: { readonly usage: Usage }) => {
  const { granularity } = usage
  const bars = named(barsOf(usage, undefined, now()), granularity)
  const pick = (first: number, last: number): void => {
    const range = rangeOfBars(bars, first, last, now())
    if (range) navigate(`${home}/log${queryText(range)}`)
  }
  const text = forecastText(usage)
  return (
    <>
      <StackedBars
        title={`Searches by ${granularity}`}
        description={`Searches by ${granularity} and outcome`}
        unit="Day (UTC)"
        series={outcomeSeries}
        bars={bars}
        onPick={pick}
      />
      {text && <p class="soft">{text}</p>}
    </>
  )
}

const NoSearches = () => (
  <EmptyState
    title="No searches yet"
    action={
      isOneOf("builders") && (
        <ButtonLink kind="primary" href={`${home}/playground?query=http+caching`} text="Run a search" />
      )
    }
  >
    Each search appears here with its outcome, credits, and time.
  </EmptyState>
)

export const OverviewPage = () => {
  const usage = useRoute("GET /v1/usage", {})
  const today = useRoute(
    "GET /v1/usage",
    isTimeKnown.value ? { query: { from: startOfDay(now()), granularity: "hour", group_by: "target" } } : undefined
  )
  const isReader = isOneOf("readers")
  const isBuilder = isOneOf("builders")
  const recent = useRoute("GET /v1/query/history", isReader ? { query: { limit: recentEntries } } : undefined)
  const keys = lastOf(useRoute("GET /v1/api-keys", isReader ? {} : undefined).state.value)?.api_keys
  const plan = lastOf(usage.state.value)?.plan_name
  const searches = lastOf(recent.state.value)?.queries
  return (
    <>
      <PageHeader
        title="Overview"
        lead={plan && `Your plan: ${plan}`}
        actions={isBuilder && <ButtonLink kind="primary" href={`${home}/playground`} text="New search" />}
      />
      <div class="grid">
        <Problems keys={keys ?? []} usage={lastOf(usage.state.value)} today={lastOf(today.state.value)} />
        <Figures usage={lastOf(usage.state.value)} />
        {isBuilder && !areStepsHidden.value && (
          <FirstSteps hasKey={keys && keys.length > 0} hasSearch={searches?.some(({ kind }) => kind === "search")} />
        )}
        <Card title="This period" isWide>
          <Loaded resource={usage} height={280}>
            {(usage) => <Period usage={usage} />}
          </Loaded>
        </Card>
        {isReader && (
          <Card title="Searches" isWide action={<a href={`${home}/log`}>Full log</a>}>
            <Loaded resource={recent} height={330}>
              {({ queries }) =>
                queries.length === 0 ? (
                  <NoSearches />
                ) : (
                  <LogTable caption="Latest searches" entries={queries} keys={keys ?? []} />
                )
              }
            </Loaded>
          </Card>
        )}
      </div>
    </>
  )
}
