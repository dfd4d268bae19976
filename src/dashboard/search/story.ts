import type { LoggedSearch } from "../api/routes.ts"
import { formatDuration, formatNumber, plural } from "../format.ts"

export interface Story {
  readonly code: string | undefined
  readonly sentences: ReadonlyArray<string>
}

type Attempt = LoggedSearch["attempts"][number]

const reasons: Readonly<Record<Attempt["reason"], string>> = {
  blocked: "was blocked by the search engine",
  rate_limited: "refused because of too many requests",
  unreachable: "could not be reached",
  malformed: "sent a response that could not be read",
  timeout: "did not answer in time",
  unserved: "does not support this request",
  busy: "was not called, because all its slots were taken",
  cool_down: "was not called, because it failed a moment ago",
  cut_off: "was stopped, because the time of the batch ended",
  merged: "returned results, which were merged",
  unavailable: "is not available at the moment"
}

export const attemptText = ({ ms, only, provider, reason }: Attempt): string =>
  [
    // Operators see reasons that customers do not: `quota`, `unauthorized` and `paused`.
    `${provider ?? "A provider"} ${reasons[reason] ?? `gave no answer (${reason})`}`,
    ...(ms > 0 ? [formatDuration(ms)] : []),
    ...(only === undefined ? [] : [`${plural(only, "result")} only from it`])
  ].join(", ")

const outcomeOf = (entry: LoggedSearch): string => {
  const time = formatDuration(entry.duration_ms)
  switch (entry.status) {
    case "ok":
      if (entry.cached) return "The response came from the cache, so no target was asked."
      return entry.kind === "page"
        ? `The page was fetched and read in ${time}: ${formatNumber(entry.bytes ?? 0)} bytes from ${entry.host ?? "its host"}.`
        : `${entry.target} returned ${plural(entry.result_count, "result")}${entry.provider === null ? "" : ` from ${entry.provider}`} in ${time}.`
    case "upstream_error":
      return `${entry.target} failed after ${time}. Its search engine returned an error or could not be reached.`
    case "upstream_timeout":
      return `${entry.target} did not answer in time. The request was given up after ${time}.`
    case "page_unreadable":
      return `The page could not be read${entry.reason === null ? "" : ` (${entry.reason})`}. The attempt took ${time}.`
  }
}

export const storyOf = (entry: LoggedSearch): Story => ({
  code: entry.status === "ok" ? undefined : entry.status,
  sentences: [
    outcomeOf(entry),
    entry.credits === 0
      ? "Nothing was charged."
      : `${plural(entry.credits, "credit")} ${entry.credits === 1 ? "was" : "were"} charged.`
  ]
})
