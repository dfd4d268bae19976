import { Result, Schema } from "effect"
import { KeyMode, keyModes } from "./ApiKey.ts"
import { InvalidRequest } from "./errors.ts"
import { CollapsedText, carriable, reader, readFields } from "./fields.ts"
import { codePointLength } from "./text.ts"

/** A key as a person asks for it. */
export interface NewKey {
  readonly name: string
  readonly type: KeyMode
}

export const maxNameCodePoints = 100

const readName = reader(
  CollapsedText.check(
    carriable,
    Schema.makeFilter((text) => {
      const length = codePointLength(text)
      return (
        (length >= 1 && length <= maxNameCodePoints && !/\p{Cc}/u.test(text)) ||
        `must have 1 to ${maxNameCodePoints} characters and no control characters`
      )
    })
  )
)
const readType = reader(KeyMode.annotate({ message: `must be one of ${keyModes.join(", ")}` }))

/** The body of `POST /v1/api-keys`. A key is live unless it says otherwise. */
export const parseNewKey = (body: unknown): Result.Result<NewKey, InvalidRequest> => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return Result.fail(InvalidRequest.whole("the body must be a JSON object"))
  }
  const raw = { ...body } as Readonly<Record<string, unknown>> // An object's own fields, whatever they hold.
  const { issues, read } = readFields(raw)
  const name = read("name", readName, undefined)
  const type = read("type", readType, "live")
  if (raw.name === undefined) issues.unshift({ field: "name", message: "is required" })
  return name === undefined || issues.length > 0
    ? Result.fail(InvalidRequest.fromIssues(issues))
    : Result.succeed({ name, type })
}
