import { Result } from "effect"
import { decoder } from "../../domain/requests/fields.ts"
import { defaultNum } from "../../domain/search/SearchRequest.ts"
import { statuses } from "../../http/errors.ts"
import { placeOf } from "../fields.ts"
import { type CompatResults, jsonForm, type ShapeWithErrors } from "../Shape.ts"
import { type SerperAnswer, type SerperError, SerperRequest } from "./SerperGroup.ts"

const answerTo =
  ({ num = defaultNum, ...asked }: SerperRequest) =>
  ({ results }: CompatResults): SerperAnswer => ({
    searchParameters: { ...asked, num, type: "search", engine: "quarry" },
    organic: results
      .slice(0, num)
      .map(({ position, snippet, title, url }) => ({ title, link: url, snippet, position })),
    credits: 1
  })

const decode = decoder(SerperRequest)

export const serper: ShapeWithErrors = {
  ...jsonForm("serper", SerperRequest),
  decode: (fields) =>
    Result.flatMap(decode(fields), (asked) =>
      Result.map(placeOf("hl", asked.hl), (place) => ({
        query: asked.q,
        ...place,
        ...(asked.gl === undefined ? {} : { geo: asked.gl }),
        page: Math.max(asked.page ?? 1, 1),
        num: asked.num ?? defaultNum,
        answer: answerTo(asked)
      }))
    ),
  toError: ({ _tag, message }) => {
    const statusCode = statuses[_tag]
    return { status: statusCode, body: { message, statusCode } satisfies SerperError }
  }
}
