import { Schema } from "effect"
import { pageParameters } from "../log/QueryHistory.ts"
import { limitedText } from "../requests/fields.ts"
import { maxEmailCharacters } from "./emailAddress.ts"

const maxTypeCharacters = 64

export const ActivityParameters = Schema.Struct({
  type: Schema.optionalKey(
    limitedText(maxTypeCharacters, {
      description: "Only events of this type, such as `key.created`, or of this kind of object, such as `key`."
    })
  ),
  actor: Schema.optionalKey(
    limitedText(maxEmailCharacters, {
      description: "Only what this actor did: an email address, the ID of a key, or `operator`."
    })
  ),
  ...pageParameters
})

type Parameters = typeof ActivityParameters.Type

export type ActivityQuery = { readonly [Name in keyof Parameters]?: Parameters[Name] | undefined }
