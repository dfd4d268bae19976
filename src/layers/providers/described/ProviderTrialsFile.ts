import { Clock, Effect, type FileSystem, Layer, Redacted, Result } from "effect"
import { capabilitiesOf, valueIn } from "../../../domain/providers/HttpDescription.ts"
import { missingAt, valueAt } from "../../../domain/providers/JsonPath.ts"
import { Refusal } from "../../../domain/providers/Refusal.ts"
import type { Field, RowShape } from "../../../domain/providers/RowShape.ts"
import type { Json, ValueFor } from "../../../domain/providers/Template.ts"
import { planCalls, type UpstreamCall, unsupportedReason } from "../../../domain/search/Capabilities.ts"
import type { SearchRequest } from "../../../domain/search/SearchRequest.ts"
import type { Pacer } from "../../../services/providers/Pacer.ts"
import {
  type MissingPath,
  ProviderTrials,
  type ShownRequest,
  TrialImpossible
} from "../../../services/providers/ProviderTrials.ts"
import { unsharedTurn } from "../../../services/providers/Turn.ts"
import * as ApiKeys from "../ApiKeys.ts"
import * as ProviderFile from "../ProviderFile.ts"
import { UpstreamClient } from "../UpstreamClient.ts"
import { build, type Described, makeSend } from "./HttpProvider.ts"

/** Members whose values are credentials, even if the file has them in plain text. */
const credential = /auth|cookie|key|token|secret|passw|signature/i

const mask = /\$\{[^{}]*\}|\{apiKey\}/

const hidden = (name: string, value: string): string =>
  credential.test(name) && !mask.test(value) ? "(hidden)" : value

const hiddenJson = (json: Json, name = ""): Json => {
  if (typeof json === "string") return hidden(name, json)
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map((item: Json) => hiddenJson(item, name))
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, hiddenJson(value, key)]))
}

/** Secrets by their names, in place of their values. */
const shownValues =
  ({ description }: Described, call: UpstreamCall): ValueFor =>
  (part) => {
    if (part._tag === "variable") return `\${${part.name}}`
    return part.name === "apiKey" ? "{apiKey}" : valueIn(description, call, part.name)
  }

const readable = (encoded: string): string =>
  encoded
    .replaceAll(/%24%7B([A-Za-z0-9_]+)%7D/g, (_, name: string) => `\${${name}}`)
    .replaceAll("%7BapiKey%7D", "{apiKey}")

const show = (described: Described, call: UpstreamCall): ShownRequest | undefined => {
  const { request } = described.description
  const built = build(request, shownValues(described, call))
  if (built === undefined) return undefined
  const query = built.query.map(([name, value]): [string, string] => [name, hidden(name, value)])
  const parameters = new URLSearchParams(query).toString()
  return {
    method: request.method,
    url: readable(parameters === "" ? built.url : `${built.url}?${parameters}`),
    headers: Object.fromEntries(Object.entries(built.headers).map(([name, value]) => [name, hidden(name, value)])),
    body: built.body === undefined ? null : hiddenJson(built.body)
  }
}

const pathsOf = (field: Field) =>
  field.flatMap((source) =>
    source._tag === "path" ? [source.path] : source.parts.flatMap((part) => (typeof part === "string" ? [] : [part]))
  )

const isNothing = (value: unknown): boolean => value === undefined || value === null

const missingIn = (shape: RowShape, json: unknown): ReadonlyArray<MissingPath> => {
  const list = valueAt(json, shape.rows)
  if (!Array.isArray(list))
    return [{ member: "response.rows", path: shape.rows.join("."), ...missingAt(json, shape.rows) }]
  if (list.length === 0) return []
  const fields = { url: shape.url, title: shape.title, snippet: shape.snippet, published: shape.published }
  return Object.entries(fields).flatMap(([name, field]) =>
    pathsOf(field)
      .filter((path) => list.every((row) => isNothing(valueAt(row, path))))
      .map((path) => ({ member: `response.${name}`, path: path.join("."), ...missingAt(list[0], path) }))
  )
}

/** Shorter values would hide parts of ordinary words. */
const minSecretCharacters = 4

/** Replaces secrets in what the provider returns, because it may repeat them. */
const scrubber = ({ options, variables }: Described) => {
  const keys = ApiKeys.keysOf(options).map(Redacted.value)
  const secrets = [...keys, ...variables.values()].filter((secret) => secret.length >= minSecretCharacters)
  return (text: string): string => secrets.reduce((clean, secret) => clean.replaceAll(secret, "***"), text)
}

const trial = Effect.fnUntraced(function* (
  name: string,
  described: Described,
  asked: SearchRequest,
  timeoutMs: number
) {
  const { description, options } = described
  const capabilities = capabilitiesOf(description)
  const request = { ...asked, safe: capabilities.safe[0] ?? asked.safe }
  const reason = unsupportedReason(capabilities, request)
  if (reason !== undefined)
    return yield* new TrialImpossible({ message: `${name} cannot serve this search: ${reason}.` })
  const { first } = planCalls(capabilities, request)
  const shown = show(described, first)
  if (shown === undefined)
    return yield* new TrialImpossible({ message: `The address of ${name} lacks a value for this search.` })
  const client = yield* UpstreamClient
  let status: number | undefined
  const observed = UpstreamClient.of({
    exchange: (sent, use, options) =>
      client.exchange(
        sent,
        (reply) => {
          status = reply.status
          return use(reply)
        },
        options
      )
  })
  let json: unknown
  const { send } = yield* makeSend(name, described, (response) => (json = response)).pipe(
    Effect.provideService(UpstreamClient, observed)
  )
  const startedAt = yield* Clock.currentTimeMillis
  const end = yield* Effect.result(send(first, unsharedTurn(timeoutMs), ApiKeys.keysOf(options)[0]))
  const scrub = scrubber(described)
  return {
    request: shown,
    status,
    refusal: Result.isFailure(end)
      ? new Refusal({ reason: end.failure.reason, message: scrub(end.failure.message) })
      : undefined,
    rows: Result.isSuccess(end)
      ? end.success.map((row) => ({
          ...row,
          title: scrub(row.title),
          url: scrub(row.url),
          snippet: scrub(row.snippet)
        }))
      : [],
    missing: json === undefined ? [] : missingIn(description.response, json),
    durationMs: (yield* Clock.currentTimeMillis) - startedAt
  }
})

export const layer = ({
  path,
  timeoutMs
}: {
  readonly path: string | undefined
  readonly timeoutMs: number
}): Layer.Layer<ProviderTrials, never, FileSystem.FileSystem | Pacer | UpstreamClient> =>
  Layer.effect(
    ProviderTrials,
    Effect.map(Effect.context<FileSystem.FileSystem | Pacer | UpstreamClient>(), (context) =>
      ProviderTrials.of({
        run: (name, request) =>
          Effect.gen(function* () {
            if (path === undefined)
              return yield* new TrialImpossible({
                message: "There is no provider file. Set QUARRY_PROVIDERS to one that has the provider."
              })
            const described = yield* ProviderFile.described(path, name).pipe(
              Effect.mapError(({ message }) => new TrialImpossible({ message }))
            )
            return yield* Effect.timeoutOrElse(trial(name, described, request, timeoutMs), {
              duration: timeoutMs,
              orElse: () => Effect.fail(new TrialImpossible({ message: `${name} did not respond in ${timeoutMs} ms.` }))
            })
          }).pipe(Effect.provideContext(context))
      })
    )
  )
