import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import { jsonForm } from "../Shape.ts"
import { type PagesForm, type ReadPages, toWholePage } from "./PageForm.ts"
import { type TavilyExtractAnswer, TavilyExtractRequest } from "./TavilyExtractGroup.ts"

const decode = decoder(TavilyExtractRequest)

/** Clients find the results by the addresses that they sent. */
const answerTo =
  (urls: ReadonlyArray<string>) =>
  ({ durationMs, requestId, rows }: ReadPages): Result.Result<TavilyExtractAnswer> => {
    const placed = rows.map((row, index) => ({ row, url: urls[index] ?? "" }))
    return Result.succeed({
      results: placed.flatMap(({ row, url }) =>
        row.status === "ok" ? [{ url, raw_content: row.content, images: [] }] : []
      ),
      failed_results: placed.flatMap(({ row, url }) => (row.status === "ok" ? [] : [{ url, error: row.message }])),
      response_time: durationMs / 1000,
      request_id: requestId
    })
  }

export const tavilyExtract: PagesForm = {
  ...jsonForm("tavily", TavilyExtractRequest),
  decode: (fields) =>
    Result.map(decode(fields), ({ format, urls }) => {
      const all = typeof urls === "string" ? [urls] : urls
      return { rows: all.map((url) => toWholePage({ url, format, source: "compat:tavily" })), answer: answerTo(all) }
    })
}
