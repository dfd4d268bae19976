import { Schema } from "effect"
import { CollapsedText, carriable } from "../requests/fields.ts"
import { codePointLength } from "../text.ts"
import { KeyMode } from "./ApiKey.ts"
import { graceSeconds } from "./grace.ts"
import { boundsFields } from "./KeyBounds.ts"

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

const message = "the body must be a JSON object"

export const NewKey = Schema.Struct({
  name: Name,
  type: Schema.optionalKey(KeyMode),
  ...boundsFields
}).annotate({ identifier: "NewApiKey", message })
export type NewKey = typeof NewKey.Type

export const ApiKeyChange = Schema.Struct(boundsFields).annotate({ identifier: "ApiKeyChange", message })

export const KeyRotation = Schema.Struct({
  grace_seconds: graceSeconds("Seconds during which the old secret still works; 0 when absent")
}).annotate({ identifier: "ApiKeyRotation", message })
