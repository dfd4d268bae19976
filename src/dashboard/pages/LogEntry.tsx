import type { ComponentChildren } from "preact"
import { queryText } from "../api/client.ts"
import type { Key, LoggedSearch } from "../api/routes.ts"
import { lastOf, useRoute } from "../app/resource.ts"
import { home } from "../app/router.ts"
import { LogTable } from "../components/search/LogTable.tsx"
import { SearchCode } from "../components/search/SearchCode.tsx"
import { TargetName } from "../components/search/TargetName.tsx"
import { Badge, OutcomeBadge } from "../components/ui/Badge.tsx"
import { ButtonLink } from "../components/ui/Button.tsx"
import { Card } from "../components/ui/Card.tsx"
import { CopyButton } from "../components/ui/CopyButton.tsx"
import { PageHeader } from "../components/ui/PageHeader.tsx"
import { EmptyState, Loaded } from "../components/ui/States.tsx"
import { formatDuration, formatMoment, formatNumber, formatRelative } from "../format.ts"
import { draftOf, draftQuery, optionNames } from "../search/draft.ts"
import { optionTexts } from "../search/logView.ts"
import { playground } from "../search/searches.ts"
import { attemptText, storyOf } from "../search/story.ts"

const maxRows = 100

const toLog = <ButtonLink href={`${home}/log`} text="All searches" />

const Fact = ({ children, name }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const IdFact = ({ id, name, what }: { readonly name: string; readonly id: string; readonly what: string }) => (
  <Fact name={name}>
    <span class="copied">
      <code>{id}</code>
      <CopyButton text={id} what={what} />
    </span>
  </Fact>
)

const Caller = ({ entry, keys }: { readonly entry: LoggedSearch; readonly keys: ReadonlyArray<Key> }) => {
  const { key_id: id } = entry
  if (id === null) return <>{entry.source === "dashboard" ? "session" : "session or app"}</>
  return <a href={`${home}/log${queryText({ key: id })}`}>{keys.find((key) => key.id === id)?.name ?? id}</a>
}

const SearchFacts = ({ entry }: { readonly entry: LoggedSearch }) => (
  <>
    <Fact name="Results">{formatNumber(entry.result_count)}</Fact>
    <Fact name="Country and locale">
      <code>{entry.geo}</code>, <code>{entry.locale}</code>
    </Fact>
    <Fact name="Requested page and results">{`${entry.page}, ${entry.num}`}</Fact>
    <Fact name="Safe search">{entry.safe}</Fact>
    {optionNames.map((name) => {
      const value = entry.options?.[name]
      return (
        value !== undefined && (
          <Fact key={name} name={optionTexts[name]}>
            {typeof value === "string" ? value : value.join(", ")}
          </Fact>
        )
      )
    })}
  </>
)

const PageFacts = ({ entry }: { readonly entry: LoggedSearch }) => (
  <>
    <Fact name="Host">{entry.host}</Fact>
    <Fact name="Bytes">{formatNumber(entry.bytes ?? 0)}</Fact>
    {entry.reason !== null && (
      <Fact name="Reason">
        <code>{entry.reason}</code>
      </Fact>
    )}
  </>
)

const Facts = ({ entry, keys }: { readonly entry: LoggedSearch; readonly keys: ReadonlyArray<Key> }) => (
  <dl class="details">
    <Fact name="Outcome">
      <span class="badges">
        <OutcomeBadge outcome={entry.status} />
        {entry.cached && <Badge text="cached" />}
      </span>
    </Fact>
    <Fact name="When">
      <time dateTime={entry.created_at}>{formatMoment(entry.created_at)}</time>, {formatRelative(entry.created_at)}
    </Fact>
    <Fact name="Credits">{formatNumber(entry.credits)}</Fact>
    <Fact name="Provider time">{formatDuration(entry.duration_ms)}</Fact>
    <Fact name="Target">
      <TargetName target={entry.target} />
    </Fact>
    {(entry.cached || entry.provider !== null) && (
      <Fact name="Answered by">{entry.cached ? "the cache" : <bdi>{entry.provider}</bdi>}</Fact>
    )}
    {entry.kind === "page" ? <PageFacts entry={entry} /> : <SearchFacts entry={entry} />}
    <Fact name="Credential">
      <Caller entry={entry} keys={keys} />
    </Fact>
    <Fact name="Source">
      <a href={`${home}/log${queryText({ source: entry.source })}`}>{entry.source}</a>
    </Fact>
    <IdFact name="Search id" id={entry.id} what="the search id" />
    {entry.request_id && <IdFact name="Request id" id={entry.request_id} what="the request id" />}
    {entry.batch_id && <IdFact name="Batch" id={entry.batch_id} what="the batch id" />}
  </dl>
)

const Story = ({ entry }: { readonly entry: LoggedSearch }) => {
  const { code, sentences } = storyOf(entry)
  return (
    <p class={code === undefined ? "story" : "story failed"}>
      {code !== undefined && (
        <>
          <code>{code}</code>{" "}
        </>
      )}
      {sentences.join(" ")}
    </p>
  )
}

const Attempts = ({ attempts }: Pick<LoggedSearch, "attempts">) =>
  attempts.length === 0 ? null : (
    <>
      <h3>Attempts</h3>
      <ol class="attempts">
        {attempts.map((attempt, index) => (
          <li key={index}>{attemptText(attempt)}</li>
        ))}
      </ol>
    </>
  )

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
          <Story entry={entry} />
          <Attempts attempts={entry.attempts} />
          <Facts entry={entry} keys={lastOf(keys.state.value)?.api_keys ?? []} />
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
