import type { ComponentChildren } from "preact"
import { queryText } from "../../api/client.ts"
import type { Key, LoggedSearch } from "../../api/routes.ts"
import { home } from "../../app/router.ts"
import { formatDuration, formatMoment, formatNumber, formatRelative } from "../../format.ts"
import { optionNames } from "../../search/draft.ts"
import { optionTexts } from "../../search/logView.ts"
import { attemptText, storyOf } from "../../search/story.ts"
import { Outcome } from "../ui/Badge.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { TargetName } from "./TargetName.tsx"

interface Fact {
  readonly name: string
  readonly value: ComponentChildren
}

/** None for a value that the entry does not have. */
const factIf = (value: unknown, fact: Fact): ReadonlyArray<Fact> => (value ? [fact] : [])

const copied = (id: string, what: string) => (
  <span class="copied">
    <code>{id}</code>
    <CopyButton text={id} what={what} />
  </span>
)

const Caller = ({ entry, keys }: EntryDetailsProps) => {
  const { key_id: id } = entry
  if (id === null) return <>{entry.source === "dashboard" ? "session" : "session or app"}</>
  return <a href={`${home}/log${queryText({ key: id })}`}>{keys.find((key) => key.id === id)?.name ?? id}</a>
}

const searchFacts = (entry: LoggedSearch): ReadonlyArray<Fact> => [
  { name: "Results", value: formatNumber(entry.result_count) },
  { name: "Country and locale", value: `${entry.geo}, ${entry.locale}` },
  { name: "Requested page and results", value: `${entry.page}, ${entry.num}` },
  { name: "Safe search", value: entry.safe },
  ...optionNames.flatMap((name) => {
    const value = [entry.options?.[name] ?? []].flat().join(", ")
    return factIf(value, { name: optionTexts[name], value })
  })
]

const pageFacts = (entry: LoggedSearch): ReadonlyArray<Fact> => [
  { name: "Host", value: entry.host },
  { name: "Bytes", value: formatNumber(entry.bytes ?? 0) },
  ...factIf(entry.reason, { name: "Reason", value: <code>{entry.reason}</code> })
]

const factsOf = ({ entry, keys }: EntryDetailsProps): ReadonlyArray<Fact> => [
  { name: "Outcome", value: <Outcome {...entry} /> },
  {
    name: "When",
    value: (
      <>
        <time dateTime={entry.created_at}>{formatMoment(entry.created_at)}</time>, {formatRelative(entry.created_at)}
      </>
    )
  },
  { name: "Credits", value: formatNumber(entry.credits) },
  { name: "Provider time", value: formatDuration(entry.duration_ms) },
  { name: "Target", value: <TargetName target={entry.target} /> },
  ...factIf(entry.cached || entry.provider, {
    name: "Answered by",
    value: entry.cached ? "the cache" : <bdi>{entry.provider}</bdi>
  }),
  ...(entry.kind === "page" ? pageFacts(entry) : searchFacts(entry)),
  { name: "Credential", value: <Caller entry={entry} keys={keys} /> },
  {
    name: "Source",
    value: <a href={`${home}/log${queryText({ source: entry.source })}`}>{entry.source}</a>
  },
  { name: "Search id", value: copied(entry.id, "the search id") },
  ...factIf(entry.request_id, { name: "Request id", value: copied(entry.request_id ?? "", "the request id") }),
  ...factIf(entry.batch_id, { name: "Batch", value: copied(entry.batch_id ?? "", "the batch id") })
]

export const Story = ({ entry }: { readonly entry: LoggedSearch }) => {
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

export const Attempts = ({ attempts }: Pick<LoggedSearch, "attempts">) =>
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

export interface EntryDetailsProps {
  readonly entry: LoggedSearch
  readonly keys: ReadonlyArray<Key>
}

/** Why the search ended as it did, and everything that the log has about it. */
export const EntryDetails = (props: EntryDetailsProps) => (
  <>
    <Story entry={props.entry} />
    <Attempts attempts={props.entry.attempts} />
    <dl class="details">
      {factsOf(props).map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  </>
)
