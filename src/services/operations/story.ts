import { Effect } from "effect"
import { InvalidRequest, type NotFound } from "../../domain/errors.ts"
import { requestIdPattern } from "../../domain/requests/requestId.ts"
import type { StoredLogEntry } from "../charging/QueryLog.ts"
import { maxEntries, OperatorLog, type SearchCharge } from "./OperatorLog.ts"

export interface Story {
  readonly kind: "query" | "page" | "batch" | "request" | "trace"
  readonly entries: ReadonlyArray<StoredLogEntry>
  readonly charges: ReadonlyArray<SearchCharge>
  /** True if there may be more entries. */
  readonly isCut: boolean
}

const traceId = /^[0-9a-f]{32}$/i

/** A trace that begins here has the ID of its request. */
const toRequestId = (id: string): string => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")

const unknownForm = InvalidRequest.fromIssues([
  { field: "id", message: "must be the ID of a query (qry_…), a page (pag_…), a batch (bat_…), a request or a trace" }
])

type Found = Omit<Story, "charges" | "isCut">

const find = (id: string): Effect.Effect<Found, InvalidRequest | NotFound, OperatorLog> =>
  Effect.gen(function* () {
    const log = yield* OperatorLog
    if (id.startsWith("qry_")) return { kind: "query", entries: [yield* log.query(id)] } as const
    if (id.startsWith("pag_")) return { kind: "page", entries: [yield* log.query(id)] } as const
    if (id.startsWith("bat_")) return { kind: "batch", entries: yield* log.batch(id) } as const
    if (requestIdPattern.test(id)) return { kind: "request", entries: yield* log.request(id) } as const
    if (traceId.test(id)) return { kind: "trace", entries: yield* log.request(toRequestId(id)) } as const
    return yield* unknownForm
  })

/** All that the database knows of a request. Requests that were refused before a search began are not logged. */
export const storyOf = Effect.fnUntraced(function* (id: string) {
  const { entries, kind } = yield* find(id.trim())
  const charges = yield* Effect.flatMap(OperatorLog, (log) => log.charges(entries))
  const story: Story = { kind, entries, charges, isCut: entries.length >= maxEntries }
  return story
})
