import { Result } from "effect"
import { UpstreamError, UpstreamTimeout } from "../errors.ts"
import type { BulkBody, ErrorRow, RowBody } from "./BulkResult.ts"
import type { OrganicResult } from "./OrganicResult.ts"
import { Ranking } from "./Ranking.ts"
import type { SearchBody } from "./SearchResult.ts"

// Kept as values, because a replay may ask for another format (R44). A replayed error has its own request ID.

export type SearchEnd = Result.Result<SearchBody, UpstreamError | UpstreamTimeout>

interface KeptBody<Body extends SearchBody> {
  readonly body: Omit<Body, "ranking">
  readonly organic: ReadonlyArray<OrganicResult>
}

interface KeptError {
  readonly error: (UpstreamError | UpstreamTimeout)["_tag"]
  readonly message: string
}

type AnsweredRow = Extract<RowBody, SearchBody>

interface KeptBatch {
  readonly counts: Omit<BulkBody, "results">
  readonly results: ReadonlyArray<KeptBody<AnsweredRow> | ErrorRow>
}

const keepBody = ({ ranking, ...body }: SearchBody): string =>
  `{"body":${JSON.stringify(body)},"organic":${ranking.json}}`

const restoreBody = <Body extends SearchBody>({ body, organic }: KeptBody<Body>) => ({
  ...body,
  ranking: new Ranking(organic)
})

export const keepSearch = (end: SearchEnd): string =>
  Result.match(end, {
    onSuccess: keepBody,
    onFailure: ({ _tag, message }) => JSON.stringify({ error: _tag, message } satisfies KeptError)
  })

/** Unchecked, like `restoreBatch`: only this module writes the text. */
export const restoreSearch = (text: string): SearchEnd => {
  const kept: KeptBody<SearchBody> | KeptError = JSON.parse(text)
  if ("body" in kept) return Result.succeed(restoreBody(kept))
  const { error, message } = kept
  return Result.fail(error === "upstream_error" ? new UpstreamError({ message }) : new UpstreamTimeout({ message }))
}

const keepRow = (row: RowBody): string => (row.status === "ok" ? keepBody(row) : JSON.stringify(row))

export const keepBatch = ({ results, ...counts }: BulkBody): string =>
  `{"counts":${JSON.stringify(counts)},"results":[${results.map(keepRow).join(",")}]}`

export const restoreBatch = (text: string): BulkBody => {
  const { counts, results }: KeptBatch = JSON.parse(text)
  return { ...counts, results: results.map((row) => ("body" in row ? restoreBody<AnsweredRow>(row) : row)) }
}
