import { queryText } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { home, place } from "../app/router.ts"
import { filterNames, LogFilters } from "../components/search/LogFilters.tsx"
import { LogTable } from "../components/search/LogTable.tsx"
import { Button } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { playground } from "../search/searches.ts"

type History = Answer<"GET /v1/query/history">

const entriesOnPage = 50

const path = `${home}/log`

const parameterNames: ReadonlySet<string> = new Set([...filterNames, "cursor"])

const parametersOf = (query: URLSearchParams): Readonly<Record<string, string>> =>
  Object.fromEntries([...query].filter(([name, value]) => parameterNames.has(name) && value !== ""))

const Empty = ({ hasOlder, isFiltered }: { readonly hasOlder: boolean; readonly isFiltered: boolean }) => {
  if (hasOlder) {
    return (
      <EmptyState title="No matches so far">
        Each page covers only part of a long log. Older entries may still match.
      </EmptyState>
    )
  }
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching searches"
        action={
          <a class="button" href={path}>
            Show all searches
          </a>
        }
      >
        No log entry matches all of these filters.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No searches yet"
      action={
        <a class="button primary" href={playground}>
          Open the playground
        </a>
      }
    >
      Charged searches are listed here with their outcome, credits, and time.
    </EmptyState>
  )
}

const Pager = ({ next, parameters }: { readonly next: string | null; readonly parameters: Record<string, string> }) => {
  const { cursor, ...filters } = parameters
  if (cursor === undefined && next === null) return null
  return (
    <nav class="pager" aria-label="Pages of the log">
      {cursor === undefined ? (
        <span />
      ) : (
        <a class="button" href={path + queryText(filters)}>
          Newest
        </a>
      )}
      {next !== null && (
        <a class="button" href={path + queryText({ ...filters, cursor: next })}>
          Older
        </a>
      )}
    </nav>
  )
}

const Entries = ({
  history,
  parameters
}: {
  readonly history: History
  readonly parameters: Record<string, string>
}) => {
  const { next_cursor: next, queries } = history
  return (
    <>
      {queries.length === 0 ? (
        <Empty hasOlder={next !== null} isFiltered={Object.keys(parameters).length > 0} />
      ) : (
        <LogTable caption="Searches, newest first" entries={queries} />
      )}
      <Pager next={next} parameters={parameters} />
    </>
  )
}

export const LogPage = () => {
  const parameters = parametersOf(place.value.query)
  const history = useRoute("GET /v1/query/history", { query: { ...parameters, limit: entriesOnPage } })
  const keys = useRoute("GET /v1/api-keys", {})
  const state = history.state.value
  const refresh = (): void => {
    history.reload()
    keys.reload()
    announce("Log refreshed.")
  }
  return (
    <>
      <PageHeader
        title="Log"
        lead="All charged searches of this account, newest first."
        actions={
          <Button busy={state._tag === "loading"} onClick={refresh}>
            Refresh
          </Button>
        }
      />
      <div class="stack">
        <section class="card" aria-label="Filters">
          <LogFilters
            keys={lastOf(keys.state.value)?.api_keys ?? []}
            issues={state._tag === "failed" ? state.error.issues : {}}
          />
        </section>
        <Card title="Searches">
          <Loaded resource={history} height={480}>
            {(value) => <Entries history={value} parameters={parameters} />}
          </Loaded>
        </Card>
      </div>
    </>
  )
}
