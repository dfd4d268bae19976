import { Clock, Effect, Predicate, type Redacted, Schema } from "effect"
import { readPublished } from "../../domain/options/published.ts"
import type { Refusal } from "../../domain/providers/Refusal.ts"
import type { Capabilities, UpstreamCall } from "../../domain/search/Capabilities.ts"
import type { UpstreamRow } from "../../domain/search/Organic.ts"
import type { Pacer } from "../../services/providers/Pacer.ts"
import type { Provider } from "../../services/providers/Provider.ts"
import type { Turn } from "../../services/providers/Turn.ts"
import * as ApiKeys from "./ApiKeys.ts"
import * as Gate from "./Gate.ts"
import * as Paged from "./Paged.ts"
import { address, define, type ProviderType, requirePrivacy } from "./ProviderType.ts"
import * as Upstream from "./Upstream.ts"
import type { UpstreamClient } from "./UpstreamClient.ts"
import type { UpstreamRequest } from "./UpstreamRequest.ts"

export interface AnswerShape {
  readonly rows: ReadonlyArray<string>
  /** Every response has at least one of these top-level fields. Other JSON is malformed. */
  readonly marks: ReadonlyArray<string>
  readonly url: string
  readonly title: string
  readonly snippet: string | ((row: object) => unknown)
  /** True if title and snippet are HTML. Plain text keeps its tags (R12). */
  readonly isHtml?: true
  readonly published?: string
  /** The error that a 200 response without rows reports, or an empty string. Defaults to the `error` field. */
  readonly problem?: (json: object) => string
}

export interface SearchApi {
  /** Undefined if the provider file must set it. */
  readonly url: string | undefined
  /** The engines to choose from, the default first. Undefined if there is only one. */
  readonly engines?: readonly [string, ...Array<string>]
  readonly needsKey: boolean
  readonly capabilities: (engine: string) => Capabilities
  readonly request: (
    call: UpstreamCall,
    to: { readonly url: string; readonly engine: string; readonly key: Redacted.Redacted | undefined }
  ) => UpstreamRequest
  readonly answer: AnswerShape
  readonly newsAnswer?: AnswerShape
  readonly dialect?: Upstream.Dialect
}

const at = (json: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce((value: unknown, name) => (Predicate.hasProperty(value, name) ? value[name] : undefined), json)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const readRow = (shape: AnswerShape, row: unknown, nowMs: number): ReadonlyArray<UpstreamRow> => {
  if (typeof row !== "object" || row === null) return []
  const url = at(row, [shape.url])
  if (typeof url !== "string") return []
  const snippet = typeof shape.snippet === "string" ? at(row, [shape.snippet]) : shape.snippet(row)
  const read = {
    url,
    title: textOf(at(row, [shape.title])),
    snippet: textOf(snippet),
    ...(shape.isHtml === true ? { isHtml: shape.isHtml } : {})
  }
  const published = shape.published === undefined ? undefined : readPublished(at(row, [shape.published]), nowMs)
  return [published === undefined ? read : { ...read, published }]
}

const isStated = (error: unknown): boolean => (Array.isArray(error) ? error.length > 0 : Boolean(error))

/** An empty string if the response states no error. */
export const statedError = (json: { readonly error?: unknown; readonly errors?: unknown }): string =>
  isStated(json.error) || isStated(json.errors) ? `error ${Upstream.explanation(json)}` : ""

/** An empty response is an error unless the search really found nothing (R14). */
const readAnswer = (
  shape: AnswerShape,
  json: unknown,
  nowMs: number
): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return Upstream.refuse("malformed", "its response is not the documented JSON")
  }
  const list = at(json, shape.rows)
  const rows = Array.isArray(list) ? list.slice(0, Upstream.maxRows).flatMap((row) => readRow(shape, row, nowMs)) : []
  if (rows.length > 0) return Effect.succeed(rows)
  const problem = (shape.problem ?? statedError)(json)
  if (problem !== "") return Upstream.refuse(Upstream.reasonFor(problem) ?? "malformed", Upstream.errorInBody(200))
  if (Array.isArray(list) && list.length > 0) return Upstream.refuse("malformed", "its rows are not as documented")
  const isAnswer = Array.isArray(list) || (list === undefined && shape.marks.some((mark) => Object.hasOwn(json, mark)))
  return isAnswer ? Effect.succeed([]) : Upstream.refuse("malformed", "its response is not the documented JSON")
}

export const type = (api: SearchApi): ProviderType<UpstreamClient | Pacer> =>
  define({
    options: Schema.Struct({
      url: api.url === undefined ? address.url : Schema.optionalKey(address.url),
      insecure: address.insecure,
      ...ApiKeys.options,
      ...Gate.options
    }).check(requirePrivacy, ApiKeys.oneWay(api.needsKey)),
    engines: api.engines ?? "none",
    make: (name, options) =>
      Effect.gen(function* () {
        const gate = yield* Gate.make(name, options)
        const ask = yield* Upstream.make({
          gate,
          ...(api.dialect === undefined ? {} : { dialect: api.dialect })
        })
        const url = (options.url ?? api.url ?? "").replace(/\/+$/, "")
        const keys = ApiKeys.keysOf(options)
        const withKey = ApiKeys.make(name, keys)

        return (named): Provider => {
          const engine = named ?? api.engines?.[0] ?? ""
          const send = (call: UpstreamCall, turn: Turn, key: Redacted.Redacted | undefined) =>
            Effect.flatMap(ask(api.request(call, { url, engine, key }), turn), (json) => {
              const shape = call.options?.isNews === true ? (api.newsAnswer ?? api.answer) : api.answer
              return Clock.clockWith((clock) => readAnswer(shape, json, clock.currentTimeMillisUnsafe()))
            })
          return Paged.make(
            named === undefined ? name : `${name}/${named}`,
            api.capabilities(engine),
            gate,
            (call, turn) => (keys.length === 0 ? send(call, turn, undefined) : withKey((key) => send(call, turn, key)))
          )
        }
      })
  })
