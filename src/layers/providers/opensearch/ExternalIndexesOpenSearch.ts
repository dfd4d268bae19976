import { Effect, FileSystem, Layer, Option, Predicate, Ref, Schedule, Stream } from "effect"
import { ExternalIndexes, ExternalIndexFailed, type ExternalLoad } from "../../../services/index/ExternalIndexes.ts"
import { openSearchOptions } from "../ProviderFile.ts"
import { UpstreamClient } from "../UpstreamClient.ts"
import { type BulkItem, bulkLimits, readOutcome, toBodies, toItem } from "./bulk.ts"
import { formVersion, indexBody } from "./mapping.ts"
import { credentialHeaders, indexUrl, type Options } from "./options.ts"

const limits = {
  responseBytes: 8 * 1024 * 1024,
  request: "2 minutes",
  /** For documents that the engine has no capacity for; about a minute in total. */
  tries: 6,
  problems: 100
} as const

const failed = (message: string) => Effect.fail(new ExternalIndexFailed({ message }))

interface Response {
  readonly status: number
  readonly json: unknown
}

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Names fields and indexes, but no credential. */
const reasonIn = (json: unknown): string => {
  const error = Predicate.hasProperty(json, "error") ? json.error : undefined
  const [type, reason] = ["type", "reason"].map((name) =>
    Predicate.hasProperty(error, name) && typeof error[name] === "string" ? error[name].slice(0, 200) : ""
  )
  return type === "" ? "" : ` (${type}: ${reason})`
}

const explain = ({ json, status }: Response, what: string, { index }: Options): string => {
  if (status === 401 || status === 403) {
    return `The engine does not let this credential ${what}. Give its user the rights to create and write ${index}.`
  }
  return `The engine answered ${status} when asked to ${what}${reasonIn(json)}.`
}

const connect = (client: UpstreamClient["Service"], options: Options) => {
  const url = indexUrl(options)
  const credential = credentialHeaders(options)

  const send = (method: "GET" | "PUT" | "POST", path: string, body: string | null, type = "application/json") =>
    client
      .exchange(
        {
          method,
          url: `${url}${path}`,
          parameters: "",
          headers: { ...credential, accept: "application/json", ...(body === null ? {} : { "content-type": type }) },
          body
        },
        (reply) =>
          Effect.map(reply.body(limits.responseBytes), (bytes) => ({
            status: reply.status,
            json: Option.getOrUndefined(parse(bytes.toString("utf8")))
          }))
      )
      .pipe(
        Effect.timeout(limits.request),
        Effect.catchTags({
          ConnectionFailed: ({ code }) => failed(`The engine at ${options.url} cannot be reached (${code}).`),
          BodyTooLarge: () => failed("The engine's answer is larger than a bulk request's can be."),
          BodyUndecodable: ({ message }) => failed(`The engine's response ${message}.`),
          TimeoutError: () => failed(`The engine did not answer within ${limits.request}.`)
        })
      )

  /** True if this call created the index. An index that Quarry did not create is left alone. */
  const ensure = Effect.gen(function* () {
    const found = yield* send("GET", "/_mapping", null)
    if (found.status === 200) {
      const mappings = Predicate.isObject(found.json) ? Object.values(found.json) : []
      if (mappings.length > 0 && mappings.every(hasOurForm)) return false
      return yield* failed(
        `The index ${options.index} exists and was not created by this version of Quarry. Choose another name for it.`
      )
    }
    if (found.status !== 404) return yield* failed(explain(found, "read the index", options))
    const created = yield* send("PUT", "", JSON.stringify(indexBody))
    if (created.status === 200) return true
    return yield* failed(explain(created, "create the index", options))
  })

  const bulk = Effect.fnUntraced(function* (items: ReadonlyArray<BulkItem>) {
    const body = items.map(({ lines }) => lines).join("")
    const answer = yield* send("POST", "/_bulk", body, "application/x-ndjson")
    if (answer.status === 429) return { again: items, written: 0, rejected: [] }
    if (answer.status !== 200) return yield* failed(explain(answer, "write documents", options))
    const outcome = readOutcome(items, answer.json)
    return outcome ?? (yield* failed("The engine's answer to a bulk request is not the documented JSON."))
  })

  return { ensure, bulk }
}

const hasOurForm = (entry: unknown): boolean => {
  const mappings = Predicate.hasProperty(entry, "mappings") ? entry.mappings : undefined
  const meta = Predicate.hasProperty(mappings, "_meta") ? mappings._meta : undefined
  return Predicate.hasProperty(meta, "quarry") && meta.quarry === formVersion
}

const nothing: Omit<ExternalLoad, "isNew"> = { written: 0, rejected: 0, problems: [] }

const busy = "The engine has no capacity for more documents (429). Run the same command again later."

type Bulk = ReturnType<typeof connect>["bulk"]

const write = Effect.fnUntraced(function* (bulk: Bulk, items: ReadonlyArray<BulkItem>) {
  const left = yield* Ref.make(items)
  const total = yield* Ref.make(nothing)
  const round = Effect.gen(function* () {
    const { again, rejected, written } = yield* bulk(yield* Ref.get(left))
    yield* Ref.set(left, again)
    yield* Ref.update(total, (sum) => add(sum, { written, rejected: rejected.length, problems: rejected }))
    return again.length === 0
  })
  const isDone = yield* Effect.repeat(round, {
    schedule: Schedule.exponential("1 second"),
    times: limits.tries - 1,
    until: (done) => done
  }).pipe(Effect.andThen(Effect.map(Ref.get(left), (items) => items.length === 0)))
  return isDone ? yield* Ref.get(total) : yield* failed(busy)
})

const add = (sum: typeof nothing, more: typeof nothing): typeof nothing => ({
  written: sum.written + more.written,
  rejected: sum.rejected + more.rejected,
  problems: [...sum.problems, ...more.problems].slice(0, limits.problems)
})

export const layer = (
  path: string | undefined
): Layer.Layer<ExternalIndexes, never, FileSystem.FileSystem | UpstreamClient> =>
  Layer.effect(
    ExternalIndexes,
    Effect.gen(function* () {
      const client = yield* UpstreamClient
      const files = yield* FileSystem.FileSystem
      const optionsOf = (provider: string) =>
        path === undefined
          ? failed("There is no provider file. Set QUARRY_PROVIDERS to one that has the provider.")
          : openSearchOptions(path, provider).pipe(
              Effect.provideService(FileSystem.FileSystem, files),
              Effect.mapError(({ message }) => new ExternalIndexFailed({ message }))
            )
      return ExternalIndexes.of({
        load: Effect.fn("ExternalIndexes.load")(function* (provider, documents, target) {
          const { bulk, ensure } = connect(client, yield* optionsOf(provider))
          const isNew = yield* ensure
          const total = yield* documents.pipe(
            Stream.map((document) => toItem(document, target)),
            Stream.grouped(bulkLimits.documents),
            Stream.mapEffect((items) =>
              Effect.map(
                Effect.forEach(toBodies(items), (body) => write(bulk, body)),
                (parts) => parts.reduce(add, nothing)
              )
            ),
            Stream.runFold(() => nothing, add)
          )
          return { ...total, isNew }
        })
      })
    })
  )
