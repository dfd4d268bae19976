import { queryText } from "../api/client.ts"
import type { LoggedSearch } from "../api/routes.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { home } from "../app/router.ts"
import { EntryDetails } from "../components/search/EntryDetails.tsx"
import { LogTable } from "../components/search/LogTable.tsx"
import { SearchCode } from "../components/search/SearchCode.tsx"
import { ButtonLink } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { draftOf, draftQuery } from "../search/draft.ts"
import { playground } from "../search/searches.ts"

const maxRows = 100

const toLog = <ButtonLink href={`${home}/log`} text="All searches" />

const Batch = ({ current, id }: { readonly id: string; readonly current: string }) => {
  const batch = useRoute("GET /v1/query/history", { query: { batch: id, limit: maxRows } })
  return (
    <Card title="Batch" isWide action={<a href={`${home}/log${queryText({ batch: id })}`}>View in the log</a>}>
      <Loaded resource={batch} height={240}>
        {({ queries }) => (
          <LogTable
            caption="Charged rows of the batch"
            isBatch
            current={current}
            keys={[]}
            entries={queries.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0))}
          />
        )}
      </Loaded>
    </Card>
  )
}

const Entry = ({ entry }: { readonly entry: LoggedSearch }) => {
  const keys = useRoute("GET /v1/api-keys", {})
  const draft = draftOf(entry)
  const isPage = entry.kind === "page"
  return (
    <>
      <Card
        title={isPage ? "URL" : "Query"}
        isWide
        action={
          <ButtonLink
            kind="primary"
            href={playground + queryText(draftQuery(draft))}
            text="Run again in the playground"
          />
        }
      >
        <p class="query" dir="auto">
          {entry.query || "(erased)"}
        </p>
      </Card>
      <div class="beside wide">
        <Card title="Details">
          <EntryDetails entry={entry} keys={lastOf(keys.state.value)?.api_keys ?? []} />
        </Card>
        <SearchCode draft={draft} />
      </div>
      {entry.batch_id && <Batch id={entry.batch_id} current={entry.id} />}
    </>
  )
}

const NoEntry = () => (
  <Card title="Query">
    <EmptyState title="Search not found">
      The id may have a typo, belong to another account, or be older than the log retention.
    </EmptyState>
  </Card>
)

const Found = ({ id }: { readonly id: string }) => {
  const history = useRoute("GET /v1/query/history", { query: { id, limit: 1 } })
  return (
    <Loaded resource={history} height={520}>
      {({ queries: [entry] }) =>
        entry === undefined ? (
          <NoEntry />
        ) : (
          <div class="grid">
            <Entry entry={entry} />
          </div>
        )
      }
    </Loaded>
  )
}

/** Guards against an empty id, which would find the newest entry. */
const idPattern = /^(?:qry|pag)_[0-9a-f]{32}$/

export const LogEntryPage = ({ id }: { readonly id: string }) => (
  <>
    <PageHeader title="Logged search" actions={toLog} />
    {idPattern.test(id) ? <Found id={id} /> : <NoEntry />}
  </>
)
