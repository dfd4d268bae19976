import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import type { PageCompatError } from "../CompatError.ts"
import { jsonForm } from "../Shape.ts"
import { type OpenWebUiLoadAnswer, OpenWebUiLoadRequest } from "./OpenWebUiLoadGroup.ts"
import { errorOfRow, type PagesForm, type ReadPages, toWholePage } from "./PageForm.ts"

const answer = ({ rows }: ReadPages): Result.Result<OpenWebUiLoadAnswer, PageCompatError> => {
  const read = rows.flatMap((row) =>
    row.status === "ok"
      ? [{ page_content: row.content, metadata: { source: row.url, title: row.title ?? row.final_url } }]
      : []
  )
  const failed = rows.find((row) => row.status === "error")
  return read.length === 0 && failed?.status === "error" ? Result.fail(errorOfRow(failed)) : Result.succeed(read)
}

const decode = decoder(OpenWebUiLoadRequest)

export const openwebuiLoad: PagesForm<PageCompatError> = {
  ...jsonForm("openwebui", OpenWebUiLoadRequest),
  decode: (fields) =>
    Result.map(decode(fields), ({ urls }) => ({
      rows: urls.map((url) => toWholePage({ url, source: "compat:openwebui" })),
      answer
    }))
}
