import { Result } from "effect"
import { decoder } from "../domain/requests/fields.ts"
import { defaultNum } from "../domain/search/SearchRequest.ts"
import { type OpenWebUiAnswer, OpenWebUiRequest } from "./OpenWebUiGroup.ts"
import { type CompatResults, jsonForm, type Shape } from "./Shape.ts"

const answerUpTo =
  (count: number) =>
  ({ results }: CompatResults): OpenWebUiAnswer =>
    results.slice(0, count).map(({ snippet, title, url }) => ({ link: url, title, snippet }))

const decode = decoder(OpenWebUiRequest)

export const openwebui: Shape = {
  ...jsonForm("openwebui", OpenWebUiRequest),
  decode: (fields) =>
    Result.map(decode(fields), ({ count = defaultNum, query }) => ({ query, num: count, answer: answerUpTo(count) }))
}
