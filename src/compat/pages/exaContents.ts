import { Result } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { decoder } from "../../domain/requests/fields.ts"
import { readJson } from "../../http/requests/body.ts"
import { type ExaContentsAnswer, ExaContentsRequest } from "./ExaContentsGroup.ts"
import { type FailedRow, type PagesForm, type ReadPages, toWholePage } from "./PageForm.ts"

/** Exa's tags for pages that cannot be read. Its clients branch on the first two. */
const tagOf = ({ reason }: FailedRow): string => {
  if (reason === "not_found") return "CRAWL_NOT_FOUND"
  if (reason === "timed_out") return "CRAWL_TIMEOUT"
  return "CRAWL_UNKNOWN_ERROR"
}

const answerTo =
  (urls: ReadonlyArray<string>) =>
  ({ requestId, rows }: ReadPages): Result.Result<ExaContentsAnswer> => {
    const placed = rows.map((row, index) => ({ row, id: urls[index] ?? "" }))
    return Result.succeed({
      requestId,
      results: placed.flatMap(({ id, row }) =>
        row.status === "ok"
          ? [
              {
                id,
                url: row.final_url,
                title: row.title,
                author: row.author,
                publishedDate: row.published,
                text: row.content
              }
            ]
          : []
      ),
      statuses: placed.map(({ id, row }) =>
        row.status === "ok"
          ? { id, status: "success" as const }
          : { id, status: "error" as const, error: { tag: tagOf(row), httpStatusCode: row.http_status ?? null } }
      )
    })
  }

const decode = decoder(ExaContentsRequest)

const missing = InvalidRequest.fromIssues([{ field: "urls", message: "is required" }])

export const exaContents: PagesForm = {
  name: "exa",
  // `text` has no effect, because every page is read as text, and is not reported as ignored.
  fields: [...Object.keys(ExaContentsRequest.fields), "text"],
  read: readJson,
  decode: (fields) =>
    Result.flatMap(decode(fields), ({ ids, urls = ids }) =>
      urls === undefined
        ? Result.fail(missing)
        : Result.succeed({
            rows: urls.map((url) => toWholePage({ url, format: "text", source: "compat:exa" })),
            answer: answerTo(urls)
          })
    )
}
