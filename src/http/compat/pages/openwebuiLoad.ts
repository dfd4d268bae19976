import { Result } from "effect"
import { decoder } from "../../../domain/requests/fields.ts"
import { readJson } from "../../requests/body.ts"
import { type OpenWebUiLoadAnswer, OpenWebUiLoadRequest } from "./OpenWebUiLoadGroup.ts"
import { errorOfRow, type PageCompatError, type PagesForm, type ReadPages, toWholePage } from "./PageForm.ts"

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
  name: "openwebui",
  fields: Object.keys(OpenWebUiLoadRequest.fields),
  takesKeyInBody: false,
  read: readJson,
  decode: (fields) =>
    Result.map(decode(fields), ({ urls }) => ({
      rows: urls.map((url) => toWholePage({ url, source: "compat:openwebui" })),
      answer
    }))
}
