import { Schema } from "effect"
import { memberBoundsFields } from "../keys/KeyBounds.ts"
import { CollapsedText, carriable, Text } from "../requests/fields.ts"
import { maxEmailCharacters } from "./emailAddress.ts"
import { Role } from "./Role.ts"

const message = "the body must be a JSON object"
const required = { messageMissingKey: "is required" }

const Email = CollapsedText.check(
  carriable,
  Schema.isPattern(/^[^\s@]+@[^\s@]+\.[^\s@]+$/, { message: "must be an email address" }),
  Schema.isMaxLength(maxEmailCharacters, { message: `must have at most ${maxEmailCharacters} characters` })
).pipe(Schema.annotateKey(required))

export const NewMember = Schema.Struct({
  email: Email,
  role: Role.pipe(Schema.annotateKey(required))
}).annotate({ identifier: "NewMember", message })

export const MemberChange = Schema.Struct({ role: Schema.optionalKey(Role), ...memberBoundsFields }).annotate({
  identifier: "MemberChange",
  message
})

/** Accepts any text: an unknown ID is `not_found`, not `invalid_request`. */
export const AccountChoice = Schema.Struct({ account_id: Text.pipe(Schema.annotateKey(required)) }).annotate({
  identifier: "AccountChoice",
  message
})
