import { createHash } from "node:crypto"
import { Clock, Effect, Schedule, Schema, Stream } from "effect"
import { Refusal } from "../../../domain/providers/Refusal.ts"
import type { Target } from "../../../domain/search/Target.ts"
import type { Document } from "../../../services/index/DocumentIndex.ts"
import type { DocumentStore, StoreOptions } from "../../../services/index/DocumentStore.ts"
import * as Upstream from "../Upstream.ts"
import type { Call, Engine } from "./Engine.ts"
import { indexBody, originOf, sourceOf } from "./Fields.ts"

const documentsPerRequest = 200

/** Waits for a slot of the operator's own call limits. */
const maxQueueMs = 60_000
const callSeconds = 60

/** A cluster under load responds with 429, to a whole request or to single documents. */
const whileBusy = { schedule: Schedule.exponential("500 millis"), times: 5 } as const

const decode = <A>(schema: Schema.ConstraintDecoder<A>) => {
  const read = Schema.decodeUnknownEffect(schema)
  return (json: unknown) =>
    Effect.catch(read(json), () => Upstream.refuse("malformed", "its response is not the documented JSON"))
}
const writtenAnswer = decode(
  Schema.Struct({ items: Schema.Array(Schema.Struct({ index: Schema.Struct({ status: Schema.Int }) })) })
)
const countAnswer = decode(Schema.Struct({ count: Schema.Int }))
const deletedAnswer = decode(Schema.Struct({ deleted: Schema.Int }))

/** One document for each URL and target: a later load replaces it. */
const idOf = (url: string, target: Target | undefined): string =>
  createHash("sha256")
    .update(`${target ?? ""} ${url}`)
    .digest("base64url")

interface Load extends StoreOptions {
  /** Marks the documents that this load wrote. */
  readonly id: string
  /** The sites of the source, as far as it was read. */
  readonly origins: Set<string>
}

/** The documents of this target that the source no longer has: below the given URL, or on the sites of the source. */
const goneQuery = ({ id, origins, replace, target }: Load) => {
  const under = replace === false ? undefined : replace.under
  return {
    bool: {
      filter: [
        target === undefined ? { bool: { must_not: { exists: { field: "targets" } } } } : { term: { targets: target } },
        under === undefined ? { terms: { origin: [...origins] } } : { prefix: { url: under } }
      ],
      must_not: [{ term: { load: id } }]
    }
  }
}

type Send = (call: Call) => Effect.Effect<unknown, Refusal>

/** Calls the engine within a time limit, and again while it is busy. */
const sending =
  (engine: Engine): Send =>
  (request) =>
    engine.call(request, maxQueueMs).pipe(
      Effect.timeoutOrElse({
        duration: `${callSeconds} seconds`,
        orElse: () => Effect.fail(new Refusal({ reason: "timeout", message: `it took over ${callSeconds} seconds` }))
      }),
      Effect.retry({ ...whileBusy, while: ({ reason }) => reason === "rate_limited" || reason === "unreachable" })
    )

const countOf = (send: Send, query: unknown) =>
  Effect.map(
    Effect.flatMap(send({ method: "POST", endpoint: "_count", body: { query } }), countAnswer),
    ({ count }) => count
  )

const createIfMissing = (send: Send) =>
  Effect.catch(Effect.asVoid(countOf(send, { match_all: {} })), (refusal) =>
    refusal.reason === "unserved"
      ? Effect.asVoid(send({ method: "PUT", endpoint: "", body: indexBody }))
      : Effect.fail(refusal)
  )

/** Writes documents, and rewrites those for which the engine was too busy. Returns how many it rejected. */
const write = (
  send: Send,
  load: Load,
  documents: ReadonlyArray<Document>,
  triesLeft = 5
): Effect.Effect<number, Refusal> =>
  Effect.gen(function* () {
    const lines = documents.flatMap((document) => [
      JSON.stringify({ index: { _id: idOf(document.url, load.target) } }),
      JSON.stringify(sourceOf(document, { target: load.target, load: load.id }))
    ])
    const answer = yield* send({ method: "POST", endpoint: "_bulk", lines: `${lines.join("\n")}\n` })
    const { items } = yield* writtenAnswer(answer)
    if (items.length !== documents.length) {
      return yield* Upstream.refuse("malformed", "its response does not have a line for each document")
    }
    const busy = documents.filter((_, index) => items[index]?.index.status === 429)
    const rejected = items.filter(({ index }) => index.status >= 300 && index.status !== 429).length
    if (busy.length === 0) return rejected
    if (triesLeft === 0) return rejected + busy.length
    yield* Effect.sleep("1 second")
    return rejected + (yield* write(send, load, busy, triesLeft - 1))
  })

/** Removes the documents that the source no longer has, unless they are too many. */
const removeGone = Effect.fnUntraced(function* (send: Send, load: Load) {
  yield* send({ method: "POST", endpoint: "_refresh" })
  const query = goneQuery(load)
  const documents = yield* countOf(send, { match_all: {} })
  const gone = yield* countOf(send, query)
  if (gone > documents * load.maxRemovedShare) return { removed: 0, kept: { documents, removed: gone } }
  const answer = yield* send({
    method: "POST",
    endpoint: "_delete_by_query",
    body: { query },
    parameters: "conflicts=proceed"
  })
  return { removed: (yield* deletedAnswer(answer)).deleted, kept: undefined }
})

export const makeStore = (engine: Engine): DocumentStore => {
  const send = sending(engine)
  return {
    load: (documents, options) =>
      Effect.gen(function* () {
        yield* createIfMissing(send)
        const load: Load = { ...options, id: String(yield* Clock.currentTimeMillis), origins: new Set() }
        const result = { written: 0, rejected: 0 }
        yield* documents.pipe(
          Stream.tap(({ url }) => Effect.sync(() => load.origins.add(originOf(url)))),
          Stream.grouped(documentsPerRequest),
          Stream.runForEach((group) =>
            Effect.map(write(send, load, group), (rejected) => {
              result.rejected += rejected
              result.written += group.length - rejected
            })
          )
        )
        // A rejected document may still be published, so nothing is removed then.
        const isComplete = result.rejected === 0 && result.written > 0
        const removal =
          options.replace !== false && isComplete ? yield* removeGone(send, load) : { removed: 0, kept: undefined }
        return { ...result, ...removal }
      })
  }
}
