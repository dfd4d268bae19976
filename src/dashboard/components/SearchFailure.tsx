import type { Failed } from "../api/client.ts"
import { rowsOf } from "../draft.ts"
import { formatDayAndYear, formatNumber, formatRelative, plural } from "../format.ts"
import { home } from "../router.ts"
import { type Finished, figureOf } from "../searches.ts"
import { EmptyState, ErrorState } from "./States.tsx"

/** The cost of a search that failed, in the words of its own response. */
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
        {`${formatNumber(remaining ?? 0)} of ${formatNumber(quota ?? 0)} are left of the plan's quota, and ${formatNumber(balance ?? 0)} of packs. `}
        {typeof reset === "string"
          ? `The quota renews on ${formatDayAndYear(reset)}, ${formatRelative(reset)}.`
          : "The trial's credits are given once and do not renew."}
      </p>
      {left > 0 && <p>{`A batch runs whole or not at all: make it ${left} of its ${rows} searches.`}</p>}
      <p>
        <a href={`${home}/billing`}>Get more credits</a>
      </p>
    </>
  )
}

/** Things that the person can do about an error. */
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
      return <p>Change what is marked above and search again. It cost nothing.</p>
    case "rate_limited":
      return <p>A search that is turned away costs nothing.</p>
    case "internal_error":
      return <p>It cost nothing. Try again; if it stays, tell your operator the id of the request.</p>
    case "offline":
      return (
        <p>
          If the search was on its way already, it has cost its credit: the <a href={`${home}/log`}>log</a> shows it.
        </p>
      )
    default:
      return null
  }
}

/** Errors after which the same search may succeed. */
const retried = new Set(["rate_limited", "internal_error", "offline", "upstream_error", "upstream_timeout"])

/** Issues of fields that the form does not show, such as the body as a whole. */
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
        A search that had started runs to its end and costs its credit: the <a href={`${home}/log`}>log</a> shows it.
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
