import type { Failed } from "../../api/client.ts"
import { home } from "../../app/router.ts"
import { formatDayAndYear, formatNumber, formatRelative, plural } from "../../format.ts"
import { rowsOf } from "../../search/draft.ts"
import { type Finished, figureOf } from "../../search/searches.ts"
import { EmptyState, ErrorState } from "../ui/States.tsx"

const costOf = (headers: Headers): string => {
  const used = figureOf(headers, "x-credits-used")
  if (used === undefined) return "It cost nothing."
  return used === 0 ? "It cost nothing." : `It cost ${plural(used, "credit")}.`
}

const fieldOf = (body: unknown, name: string): unknown =>
  typeof body === "object" && body !== null ? Object.entries(body).find(([key]) => key === name)?.[1] : undefined

const NoCredits = ({ body, rows }: { readonly body: unknown; readonly rows: number }) => {
  const [quota, remaining, balance] = ["quota", "remaining", "balance"].map((name) => Number(fieldOf(body, name) ?? 0))
  const reset = fieldOf(body, "resets_at")
  const left = (remaining ?? 0) + (balance ?? 0)
  return (
    <>
      <p>
        {`You have ${formatNumber(remaining ?? 0)} of ${formatNumber(quota ?? 0)} quota credits and ${formatNumber(balance ?? 0)} pack credits left. `}
        {typeof reset === "string"
          ? `The quota renews on ${formatDayAndYear(reset)}, ${formatRelative(reset)}.`
          : "Trial credits are granted once and do not renew."}
      </p>
      {left > 0 && (
        <p>{`A batch runs only if there are credits for all of it. Reduce it from ${rows} to ${left} searches.`}</p>
      )}
      <p>
        <a href={`${home}/billing`}>Get more credits</a>
      </p>
    </>
  )
}

const Advice = ({ finished, failed: { error, headers } }: { readonly finished: Finished; readonly failed: Failed }) => {
  switch (error.code) {
    case "quota_exceeded":
      return <NoCredits body={error.body} rows={rowsOf(finished.draft).length} />
    case "upstream_error":
    case "upstream_timeout":
      return <p>{`${costOf(headers)} Try again, or choose another target.`}</p>
    case "invalid_request":
    case "unsupported_geo":
    case "unsupported_parameter":
      return <p>Correct the fields marked above and search again. This search cost nothing.</p>
    case "rate_limited":
      return <p>Rate-limited searches cost nothing.</p>
    case "internal_error":
      return <p>This search cost nothing. Try again. If the error persists, send the request id to your operator.</p>
    case "offline":
      return (
        <p>
          If the search had already started, it cost a credit. Check the <a href={`${home}/log`}>log</a>.
        </p>
      )
    default:
      return null
  }
}

const retried = new Set(["rate_limited", "internal_error", "offline", "upstream_error", "upstream_timeout"])

/** Fields whose issues the form shows. Other issues, such as those of the whole body, are listed here. */
const shownFields = new Set(["query", "queries", "target", "geo", "locale", "num", "page", "safe"])

export interface SearchFailureProps {
  readonly finished: Finished
  readonly failed: Failed
  readonly retry: () => void
}

export const SearchFailure = ({ failed, finished, retry }: SearchFailureProps) => {
  const { error } = failed
  if (error.code === "aborted") {
    return (
      <EmptyState title="You stopped waiting">
        A search that had already started still finishes and costs a credit. Check the <a href={`${home}/log`}>log</a>.
      </EmptyState>
    )
  }
  const others = Object.entries(error.issues).filter(([field]) => !shownFields.has(field))
  return (
    <ErrorState error={error} retry={retried.has(error.code) ? retry : undefined}>
      {others.map(([field, message]) => (
        <p key={field}>{`${field} ${message}`}</p>
      ))}
      <Advice finished={finished} failed={failed} />
    </ErrorState>
  )
}
