import { Array as Arr, Clock, Effect, Redacted, Result, Schema } from "effect"
import {
  capabilitiesOf,
  type HttpDescription,
  type HttpRequest,
  valueIn,
  variantFor
} from "../../../domain/providers/HttpDescription.ts"
import type { Refusal } from "../../../domain/providers/Refusal.ts"
import { type RowShape, readRows } from "../../../domain/providers/RowShape.ts"
import { fill, fillAddress, fillJson, type Json, textOf, type ValueFor } from "../../../domain/providers/Template.ts"
import type { UpstreamCall } from "../../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../../domain/search/Organic.ts"
import { version } from "../../../domain/version.ts"
import type { Pacer } from "../../../services/providers/Pacer.ts"
import type { Turn } from "../../../services/providers/Turn.ts"
import * as ApiKeys from "../ApiKeys.ts"
import * as Gate from "../Gate.ts"
import * as Paged from "../Paged.ts"
import { decode, EntryInvalid, type Fault, type ProviderType } from "../ProviderType.ts"
import { statedError } from "../SearchApi.ts"
import * as Upstream from "../Upstream.ts"
import type { UpstreamClient } from "../UpstreamClient.ts"
import type { UpstreamRequest } from "../UpstreamRequest.ts"
import { interpolateAll, variablesIn } from "../Variables.ts"
import * as Description from "./Description.ts"
import type { Report } from "./request.ts"

// Providers that the provider file describes (R86).

const decodeOptions = decode(Description.Options)

const userAgent = { "user-agent": `Quarry/${version}` }

export interface Described {
  readonly description: HttpDescription
  readonly options: ApiKeys.Chosen & Gate.Bounds
  /** Environment variables of the request. */
  readonly variables: ReadonlyMap<string, string>
  /** Headers of every request, in lowercase. A header of the description replaces one with its name. */
  readonly headers: Readonly<Record<string, string>>
}

const decodeEntry = decode(Schema.Record(Schema.String, Schema.Unknown).annotate({ message: "must be an object" }))

/** Variables in the request stay apart from its text: braces in their values are not placeholders. */
export const read = Effect.fnUntraced(function* (name: string, entry: unknown) {
  const path = `providers.${name}`
  const { request, ...others } = yield* decodeEntry(path, entry)
  yield* interpolateAll(`${path}.request`, request)
  const variables = yield* variablesIn(path, JSON.stringify(request) ?? "")
  const members = yield* interpolateAll(path, others)
  const options = yield* decodeOptions(path, { ...(request === undefined ? {} : { request }), ...Object(members) })
  const faults: Array<Fault> = []
  const report: Report = (member, problem) => faults.push({ path: `${path}.${member}`, problem })
  const description = Description.read(options, variables, report)
  if (Arr.isArrayNonEmpty(faults)) return yield* new EntryInvalid({ faults })
  return { description, options, variables, headers: userAgent } satisfies Described
})

/** The values of a call, with its secrets. */
export const valuesOf =
  ({ description, variables }: Described, call: UpstreamCall, key: Redacted.Redacted | undefined): ValueFor =>
  (part) => {
    if (part._tag === "variable") return variables.get(part.name)
    if (part.name === "apiKey") return key === undefined ? undefined : Redacted.value(key)
    return valueIn(description, call, part.name)
  }

/** Percent-encodes what a header cannot carry, so that no value can add a header or a line. */
const headerText = (text: string): string => text.toWellFormed().replace(/[^ -~]/gu, encodeURIComponent)

const present = <A>(name: string, value: A | undefined): ReadonlyArray<readonly [string, A]> =>
  value === undefined ? [] : [[name, value]]

export interface BuiltRequest {
  readonly url: string
  readonly query: Array<[string, string]>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json | undefined
}

/** Undefined if the address lacks a value, because an address has no parameter that could be left out. */
export const build = (request: HttpRequest, valueFor: ValueFor): BuiltRequest | undefined => {
  const url = fillAddress(request.url, valueFor)
  if (url === undefined) return undefined
  const query = request.query.flatMap(([name, value]) => {
    const filled = fillJson(value, valueFor)
    return filled === undefined || filled === null ? [] : [[name, String(filled)] satisfies [string, string]]
  })
  const headers = request.headers.flatMap(([name, template]) => present(name, fill(template, valueFor)))
  return {
    url,
    query,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, headerText(textOf(value))])),
    // An empty object in place of nothing, because the request is JSON all the same.
    body: request.body === undefined ? undefined : (fillJson(request.body, valueFor) ?? {})
  }
}

const toUpstream = (
  method: HttpRequest["method"],
  { body, headers, query, url }: BuiltRequest,
  usual: Described["headers"]
): UpstreamRequest => ({
  method,
  url,
  parameters: new URLSearchParams(query).toString(),
  headers: { ...usual, ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
  body: body === undefined ? null : JSON.stringify(body)
})

/** Some providers report a search without results as an error with these words. */
const nothingFound = /(?:n't|not) (?:return|found|find)(?:ed)? any results|no results/i

/** Rows, or the reason why the response has none (R14). */
export const readAnswer = (
  shape: RowShape,
  json: unknown,
  nowMs: number
): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
  // A rule of the description says that the search found nothing.
  if (json === undefined) return Effect.succeed([])
  const rows = readRows(json, shape, { maxRows: Upstream.maxRows, nowMs })
  if (Result.isSuccess(rows) && rows.success.length > 0) return Effect.succeed(rows.success)
  const problem = typeof json === "object" && json !== null ? statedError(json) : ""
  if (problem !== "" && !nothingFound.test(problem))
    return Upstream.refuse(Upstream.reasonFor(problem) ?? "malformed", Upstream.errorInBody(200))
  if (problem !== "" || Result.isSuccess(rows)) return Effect.succeed([])
  return Upstream.refuse("malformed", rows.failure)
}

const unservable = Upstream.refuse("unserved", "its address has no place for this search")

/** Sends one call and reads its rows. `observe` receives the response. */
export const makeSend = (name: string, described: Described, observe: (json: unknown) => void = () => undefined) =>
  Effect.gen(function* () {
    const { description, options } = described
    const gate = yield* Gate.make(name, options)
    const ask = yield* Upstream.make({ gate, dialect: { rules: description.refusals } })
    const send = (call: UpstreamCall, turn: Turn, key: Redacted.Redacted | undefined) => {
      const { request, response } = variantFor(description, call)
      const built = build(request, valuesOf(described, call, key))
      if (built === undefined) return unservable
      const asked = ask(toUpstream(request.method, built, described.headers), turn)
      return Effect.flatMap(asked, (json) => {
        observe(json)
        return Clock.clockWith((clock) => readAnswer(response, json, clock.currentTimeMillisUnsafe()))
      })
    }
    return { send, gate }
  })

export const makeEngines = (name: string, described: Described) =>
  Effect.gen(function* () {
    const { gate, send } = yield* makeSend(name, described)
    const keys = ApiKeys.keysOf(described.options)
    const withKey = ApiKeys.make(name, keys)
    const capabilities = capabilitiesOf(described.description)
    return () =>
      Paged.make(name, capabilities, gate, (call, turn) =>
        keys.length === 0 ? send(call, turn, undefined) : withKey((key) => send(call, turn, key))
      )
  })

export const type: ProviderType<UpstreamClient | Pacer> = {
  engines: "none",
  readsVariables: true,
  make: (name, entry) => Effect.flatMap(read(name, entry), (described) => makeEngines(name, described))
}
