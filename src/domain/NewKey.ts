import { Schema } from "effect"
import { KeyMode } from "./ApiKey.ts"
import { CollapsedText, carriable, decoder } from "./fields.ts"
import { codePointLength } from "./text.ts"

export const maxNameCodePoints = 100

const Name = CollapsedText.check(
  carriable,
  Schema.makeFilter((text) => {
    const length = codePointLength(text)
    return (
      (length >= 1 && length <= maxNameCodePoints && !/\p{Cc}/u.test(text)) ||
      `must have 1 to ${maxNameCodePoints} characters and no control characters`
    )
  })
).pipe(
  Schema.annotateEncoded({ minLength: 1, maxLength: maxNameCodePoints }),
  Schema.annotateKey({ messageMissingKey: "is required" })
)

/** The body of `POST /v1/api-keys`. A key is live unless its type says otherwise. */
export const NewKey = Schema.Struct({
  name: Name,
  type: Schema.optionalKey(KeyMode)
}).annotate({ identifier: "NewApiKey", message: "the body must be a JSON object" })
export type NewKey = typeof NewKey.Type

export const parseNewKey = decoder(NewKey)
