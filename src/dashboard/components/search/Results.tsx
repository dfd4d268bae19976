import { home } from "../../app/router.ts"
import { plural } from "../../format.ts"
import type { BatchAnswer, SearchAnswer } from "../../search/searches.ts"
import { Badge } from "../ui/Badge.tsx"
import { EmptyState } from "../ui/States.tsx"

type Result = SearchAnswer["results"]["organic"][number]

const readable = (url: string): string => {
  const { host, pathname } = URL.parse(url) ?? { host: url, pathname: "" }
  return host + (pathname === "/" ? "" : pathname)
}

export const Results = ({ results }: { readonly results: ReadonlyArray<Result> }) => {
  if (results.length === 0) {
    return (
      <EmptyState title="No results">
        The provider found nothing for this query. Try fewer words or another target.
      </EmptyState>
    )
  }
  return (
    <ol class="results">
      {results.map(({ domain, position, published, snippet, title, url }) => (
        <li key={position}>
          <span class="position" aria-hidden="true">
            {position}
          </span>
          <div>
            <p class="domain">
              <strong>{domain}</strong> <bdi>{readable(url)}</bdi>
              {published && <time dateTime={published}> · {published.slice(0, 10)}</time>}
            </p>
            <h3 dir="auto">
              <a href={url} target="_blank" rel="noopener noreferrer">
                {title || domain}
              </a>
            </h3>
            {snippet && <p dir="auto">{snippet}</p>}
          </div>
        </li>
      ))}
    </ol>
  )
}

type Row = BatchAnswer["results"][number]

const rowWords: Readonly<Record<string, string>> = {
  invalid_request: "invalid",
  unsupported_geo: "invalid",
  unsupported_parameter: "invalid",
  upstream_error: "failed",
  upstream_timeout: "timed out",
  internal_error: "failed"
}

const RowState = ({ row }: { readonly row: Row }) =>
  row.status === "ok" ? (
    <Badge kind="ok" text={plural(row.results.organic.length, "result")} />
  ) : (
    <Badge kind={row.error === "upstream_timeout" ? "slow" : "bad"} text={rowWords[row.error] ?? row.error} />
  )

export interface BatchResultsProps {
  readonly batch: BatchAnswer
  /** The queries as sent, because a failed row does not include its query. */
  readonly queries: ReadonlyArray<string>
}

export const BatchResults = ({ batch, queries }: BatchResultsProps) => (
  <>
    <p class="soft">
      {batch.succeeded} of {batch.total} succeeded.{" "}
      <a href={`${home}/log?batch=${batch.batch_id}`}>View the batch in the log</a>
    </p>
    <ol class="rows">
      {batch.results.map((row, index) => (
        <li key={index}>
          <details open={batch.total === 1}>
            <summary>
              <span class="position">{index + 1}</span>
              <span class="clip" dir="auto">
                {row.status === "ok" ? row.query : queries[index]}
              </span>
              <RowState row={row} />
            </summary>
            {row.status === "ok" ? <Results results={row.results.organic} /> : <p class="notice">{row.message}</p>}
          </details>
        </li>
      ))}
    </ol>
  </>
)
