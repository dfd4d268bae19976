import { Redacted, Schema } from "effect"
import * as Gate from "../Gate.ts"
import { address, requirePrivacy } from "../ProviderType.ts"

const aString = Schema.String.annotate({ message: "must be a string" }).check(
  Schema.isMinLength(1, { message: "must not be empty" })
)
const secret = Schema.RedactedFromValue(aString)

/** Names that both engines accept and that do not change the path. */
const indexName = { message: "must be the name of one index: lower-case letters, digits, -, _ and ." }

const oneCredential = Schema.makeFilter(
  ({
    apiKey,
    password,
    username
  }: {
    readonly apiKey?: unknown
    readonly password?: unknown
    readonly username?: unknown
  }) => {
    if ((username === undefined) !== (password === undefined)) {
      return { path: [username === undefined ? "username" : "password"], issue: "is missing" }
    }
    return (
      apiKey === undefined ||
      username === undefined || { path: ["apiKey"], issue: "cannot be combined with a username" }
    )
  }
)

export const Options = Schema.Struct({
  ...address,
  index: Schema.String.annotate(indexName).check(Schema.isPattern(/^[a-z0-9][a-z0-9._-]{0,200}$/, indexName)),
  username: Schema.optionalKey(aString),
  password: Schema.optionalKey(secret),
  apiKey: Schema.optionalKey(secret),
  scoring: Schema.optionalKey(
    Schema.Literals(["combined_fields", "cross_fields"]).annotate({
      message: "must be combined_fields or cross_fields"
    })
  ),
  ...Gate.options
}).check(requirePrivacy, oneCredential)
export type Options = typeof Options.Type

export const indexUrl = ({ index, url }: Options): string => `${url.replace(/\/+$/, "")}/${index}`

export const credentialHeaders = ({ apiKey, password, username }: Options): Readonly<Record<string, string>> => {
  if (apiKey !== undefined) return { authorization: `ApiKey ${Redacted.value(apiKey)}` }
  if (username === undefined || password === undefined) return {}
  const pair = Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")
  return { authorization: `Basic ${pair}` }
}
