import type { ComponentChildren } from "preact"
import { queryText } from "../../api/client.ts"
import type { Key, LoggedSearch } from "../../api/routes.ts"
import { home } from "../../app/router.ts"
import { formatDuration, formatMoment, formatNumber, formatRelative } from "../../format.ts"
import { optionNames } from "../../search/draft.ts"
import { optionTexts } from "../../search/logView.ts"
import { attemptText, storyOf } from "../../search/story.ts"
import { Badge, OutcomeBadge } from "../ui/Badge.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { TargetName } from "./TargetName.tsx"

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

/** Why the search ended as it did, and everything that the log has about it. */
export const EntryDetails = ({ entry, keys }: { readonly entry: LoggedSearch; readonly keys: ReadonlyArray<Key> }) => (
  <>
    <Story entry={entry} />
    <Attempts attempts={entry.attempts} />
    <Facts entry={entry} keys={keys} />
  </>
)
