import { useEffect, useState } from "preact/hooks"
import type { Failed, Succeeded } from "../../api/client.ts"
import { home, place, setQuery } from "../../app/router.ts"
import { formatDuration, formatNumber } from "../../format.ts"
import { rowsOf } from "../../search/draft.ts"
import { type Finished, figureOf, leftAfter } from "../../search/searches.ts"
import { Card } from "../ui/Card.tsx"
import { Choice } from "../ui/Choice.tsx"
import { CodeBlock } from "../ui/CodeBlock.tsx"
import { CopyButton } from "../ui/CopyButton.tsx"
import { EmptyState, Skeleton } from "../ui/States.tsx"
import { Table } from "../ui/Table.tsx"
import { PageRows, PageText } from "./PageText.tsx"
import { BatchResults, Results } from "./Results.tsx"
import { SearchFailure } from "./SearchFailure.tsx"

const views = [
  { value: "results", text: "Results" },
  { value: "json", text: "JSON" },
  { value: "headers", text: "Headers" }
]

const meanings: Readonly<Record<string, string>> = {
  "retry-after": "seconds to wait before trying again",
  traceresponse: "trace of this request (W3C Trace Context)",
  "x-credits-balance": "pack credits left after this request",
  "x-credits-used": "credits charged for this request",
  "x-quota-limit": "credits in the plan's quota",
  "x-quota-remaining": "quota credits left before this request",
  "x-quota-reset": "when the quota resets, in Unix seconds",
  "x-quota-used": "quota credits used before this request",
  "x-ratelimit-limit": "requests allowed per minute",
  "x-ratelimit-remaining": "requests left in this minute",
  "x-ratelimit-reset": "when the oldest request leaves the minute, in Unix seconds",
  "x-request-id": "id of this request"
}

const HeadersView = ({ headers }: { readonly headers: Headers }) => (
  <Table
    caption="Response headers"
    rows={[...headers]}
    keyOf={([name]) => name}
    columns={[
      { name: "Header", isHeader: true, cell: ([name]) => <code>{name}</code> },
      { name: "Value", cell: ([, value]) => <code class="value">{value}</code> },
      { name: "Meaning", cell: ([name]) => meanings[name] ?? "" }
    ]}
  />
)

const traceOf = (headers: Headers): string | undefined => headers.get("traceresponse")?.split("-")[1]

const Id = ({ id, name }: { readonly name: string; readonly id: string }) => (
  <div class="id">
    <dt>{name}</dt>
    <dd>
      <code>{id}</code>
      <CopyButton text={id} what={`the ${name.toLowerCase()}`} />
    </dd>
  </div>
)

const Figures = ({ result }: { readonly result: Succeeded<unknown> | Failed }) => {
  const { durationMs, headers } = result
  const used = figureOf(headers, "x-credits-used")
  const left = leftAfter(headers)
  const requestId = headers.get("x-request-id")
  const trace = traceOf(headers)
  const figures = [
    ["Time", formatDuration(durationMs)],
    ["Credits used", used === undefined ? undefined : formatNumber(used)],
    ["Credits left", left === undefined ? undefined : formatNumber(left)],
    ["Left this minute", headers.get("x-ratelimit-remaining") ?? undefined]
  ] as const
  return (
    <dl class="facts">
      {figures.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )
      )}
      {requestId !== null && <Id name="Request id" id={requestId} />}
      {trace !== undefined && <Id name="Trace id" id={trace} />}
    </dl>
  )
}

const Answer = ({ finished }: { readonly finished: Finished }) => {
  if (!finished.result.ok) return null
  switch (finished._tag) {
    case "single":
      return <Results results={finished.result.value.results.organic} />
    case "bulk":
      return <BatchResults batch={finished.result.value} queries={rowsOf(finished.draft)} />
    case "page":
      return <PageText page={finished.result.value} />
    case "pages":
      return <PageRows pages={finished.result.value} urls={rowsOf(finished.draft)} />
  }
}

const Answered = ({ finished, value }: { readonly finished: Finished; readonly value: unknown }) => {
  const chosen = place.value.query.get("view")
  const view = views.find(({ value }) => value === chosen)?.value ?? "results"
  return (
    <>
      <Choice
        legend="View"
        value={view}
        options={views}
        onChange={(view) => setQuery({ view: view === "results" ? undefined : view })}
      />
      {view === "headers" && <HeadersView headers={finished.result.headers} />}
      {view === "json" && <CodeBlock title="Response body" text={JSON.stringify(value, null, 2)} what="the body" />}
      {view === "results" && <Answer finished={finished} />}
    </>
  )
}

const Waiting = () => {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSeconds((seconds) => seconds + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="stack">
      <p class="soft">{seconds === 0 ? "Searching" : `Searching for ${seconds} s`}</p>
      {[84, 84, 84].map((height, index) => (
        <Skeleton key={index} height={height} label={index === 0 ? "Searching" : ""} />
      ))}
    </div>
  )
}

export interface SearchAnswerProps {
  readonly finished: Finished | undefined
  readonly isRunning: boolean
  readonly retry: () => void
}

const logLink = (finished: Finished | undefined) => {
  if (finished === undefined || !finished.result.ok || !("id" in finished.result.value)) return undefined
  return <a href={`${home}/log/${finished.result.value.id}`}>View in the log</a>
}

export const SearchAnswerCard = ({ finished, isRunning, retry }: SearchAnswerProps) => (
  <Card title="Answer" action={isRunning ? undefined : logLink(finished)}>
    <div class="stack" aria-busy={isRunning}>
      {isRunning ? (
        <Waiting />
      ) : finished === undefined ? (
        <EmptyState title="No search yet">
          Enter a query and search. A link to this page fills in the form but does not run the search.
        </EmptyState>
      ) : (
        <>
          <Figures result={finished.result} />
          {finished.result.ok ? (
            <Answered finished={finished} value={finished.result.value} />
          ) : (
            <SearchFailure finished={finished} failed={finished.result} retry={retry} />
          )}
        </>
      )}
    </div>
  </Card>
)
