import { Effect, Redacted, Schema } from "effect"
import type { Refusal } from "../../../domain/providers/Refusal.ts"
import * as Gate from "../Gate.ts"
import { address, requirePrivacy } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import type { UpstreamRequest } from "../UpstreamRequest.ts"

const text = Schema.String.annotate({ message: "must be a string" })
const secret = Schema.RedactedFromValue(text.check(Schema.isMinLength(1, { message: "must not be empty" })))
const indexRule = { message: "must be the name of an index: lower case letters, digits, - and _" }

export const Options = Schema.Struct({
  url: address.url,
  insecure: address.insecure,
  index: Schema.String.annotate(indexRule).check(Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,199}$/, indexRule)),
  username: Schema.optionalKey(text),
  password: Schema.optionalKey(secret),
  /** An encoded API key of Elasticsearch. */
  apiKey: Schema.optionalKey(secret),
  ...Gate.options
}).check(
  requirePrivacy,
  Schema.makeFilter(({ apiKey, password, username }) => {
    if ((username === undefined) !== (password === undefined)) {
      return { path: ["password"], issue: "and username must be given together" }
    }
    return apiKey === undefined || password === undefined
      ? true
      : { path: ["apiKey"], issue: "cannot be combined with username and password: keep only one of them" }
  })
)
export type Options = typeof Options.Type

const credentialOf = ({ apiKey, password, username }: Options): Readonly<Record<string, string>> => {
  if (apiKey !== undefined) return { authorization: `ApiKey ${Redacted.value(apiKey)}` }
  if (password === undefined) return {}
  const pair = Buffer.from(`${username}:${Redacted.value(password)}`).toString("base64")
  return { authorization: `Basic ${pair}` }
}

/** A call of an endpoint of the index, such as `_search`; of the index itself if `endpoint` is empty. */
export interface Call {
  readonly method: UpstreamRequest["method"]
  readonly endpoint: string
  readonly body?: unknown
  /** A body of newline-delimited JSON, instead of `body`. */
  readonly lines?: string
  readonly parameters?: string
}

/** Calls the engine and returns the JSON of its response. The call may queue for `maxQueueMs`. */
export interface Engine {
  readonly call: (call: Call, maxQueueMs: number) => Effect.Effect<unknown, Refusal>
}

const missing = {
  reason: "unserved",
  why: "the index is not there; `index load --provider` creates it"
} as const

export const make = Effect.fnUntraced(function* (name: string, options: Options) {
  const gate = yield* Gate.make(name, options)
  const ask = yield* Upstream.make({ gate, dialect: { statuses: { 404: missing } } })
  const base = `${options.url.replace(/\/+$/, "")}/${options.index}`
  const credential = credentialOf(options)
  const engine: Engine = {
    call: ({ body, endpoint, lines, method, parameters = "" }, maxQueueMs) =>
      ask(
        {
          method,
          url: endpoint === "" ? base : `${base}/${endpoint}`,
          parameters,
          headers: {
            ...credential,
            "content-type": lines === undefined ? "application/json" : "application/x-ndjson"
          },
          body: lines ?? (body === undefined ? null : JSON.stringify(body))
        },
        maxQueueMs
      )
  }
  return engine
})
