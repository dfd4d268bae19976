import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { readJson } from "../requests/body.ts"
import { type OpenWebUiAnswer, OpenWebUiRequest } from "./OpenWebUiGroup.ts"
import type { CompatResults, Shape } from "./Shape.ts"

const answerUpTo =
  (count: number) =>
  ({ results }: CompatResults): OpenWebUiAnswer =>
    results.slice(0, count).map(({ snippet, title, url }) => ({ link: url, title, snippet }))

const decode = decoder(OpenWebUiRequest)

export const openwebui: Shape = {
  name: "openwebui",
  fields: Object.keys(OpenWebUiRequest.fields),
  takesKeyInBody: false,
  read: readJson,
  decode: (fields) =>
    Result.map(decode(fields), ({ count = defaultNum, query }) => ({ query, num: count, answer: answerUpTo(count) }))
}
