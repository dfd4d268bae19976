import { queryText } from "../api/client.ts"
import type { Answer } from "../api/routes.ts"
import { Button } from "../components/Button.tsx"
import { Card } from "../components/Card.tsx"
import { filterNames, LogFilters } from "../components/LogFilters.tsx"
import { LogTable } from "../components/LogTable.tsx"
import { PageHeader } from "../components/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/States.tsx"
import { announce } from "../components/Toast.tsx"
import { lastOf, useRoute } from "../resource.ts"
import { home, place } from "../router.ts"
import { playground } from "../searches.ts"

/** Every search of the account, newest first. The address has the filters and the place in the log. */

type History = Answer<"GET /v1/query/history">

const entriesOnPage = 50

const path = `${home}/log`

const parameterNames: ReadonlySet<string> = new Set([...filterNames, "cursor"])

/** The parameters of the address that the API takes, by the same names. */
const parametersOf = (query: URLSearchParams): Readonly<Record<string, string>> =>
  Object.fromEntries([...query].filter(([name, value]) => parameterNames.has(name) && value !== ""))

const Empty = ({ hasOlder, isFiltered }: { readonly hasOlder: boolean; readonly isFiltered: boolean }) => {
  if (hasOlder) {
    return (
      <EmptyState title="None so far">A page reads a part of a long log. Older entries may still match.</EmptyState>
    )
  }
  if (isFiltered) {
    return (
      <EmptyState
        title="No search matches"
        action={
          <a class="button" href={path}>
            Show every search
          </a>
        }
      >
        Nothing in the log has all of these properties.
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
      Each search that is charged is listed here, with its outcome, credits and time.
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
    announce("The log is read again.")
  }
  return (
    <>
      <PageHeader
        title="Log"
        lead="Every charged search of this account, newest first."
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
