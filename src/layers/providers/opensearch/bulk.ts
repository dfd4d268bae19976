import { Result, Schema } from "effect"
import type { Target } from "../../../domain/search/Target.ts"
import type { Document } from "../../../services/index/DocumentIndex.ts"
import { documentId, toSource } from "./mapping.ts"

/** Engines accept up to 100 MB per request and recommend a few megabytes. */
export const bulkLimits = { documents: 500, bytes: 5 * 1024 * 1024 }

export interface BulkItem {
  readonly url: string
  readonly lines: string
}

export const toItem = (document: Document, target: Target | undefined): BulkItem => ({
  url: document.url,
  lines: `${JSON.stringify({ index: { _id: documentId(document.url, target) } })}\n${JSON.stringify(toSource(document, target))}\n`
})

export const toBodies = (items: ReadonlyArray<BulkItem>): ReadonlyArray<ReadonlyArray<BulkItem>> => {
  const bodies: Array<Array<BulkItem>> = []
  let bytes = 0
  for (const item of items) {
    const size = Buffer.byteLength(item.lines)
    const last = bodies.at(-1)
    if (last === undefined || last.length >= bulkLimits.documents || bytes + size > bulkLimits.bytes) {
      bodies.push([item])
      bytes = size
    } else {
      last.push(item)
      bytes += size
    }
  }
  return bodies
}

const Outcome = Schema.Struct({
  index: Schema.Struct({
    status: Schema.Int,
    error: Schema.optionalKey(Schema.Struct({ type: Schema.String, reason: Schema.optionalKey(Schema.String) }))
  })
})

const Answer = Schema.Struct({ errors: Schema.Boolean, items: Schema.Array(Outcome) })

const decode = Schema.decodeUnknownResult(Answer)

export interface BulkOutcome {
  readonly again: ReadonlyArray<BulkItem>
  readonly written: number
  readonly rejected: ReadonlyArray<{ readonly url: string; readonly problem: string }>
}

const maxReasonCharacters = 200

/** The engine reports outcomes in the order of the request. Undefined for other JSON. */
export const readOutcome = (items: ReadonlyArray<BulkItem>, json: unknown): BulkOutcome | undefined => {
  const decoded = decode(json)
  if (Result.isFailure(decoded) || decoded.success.items.length !== items.length) return undefined
  const outcomes = decoded.success.items.map(({ index }, at) => ({ ...index, item: items[at] }))
  return {
    again: outcomes.flatMap(({ item, status }) => (status === 429 && item !== undefined ? [item] : [])),
    written: outcomes.filter(({ status }) => status < 300).length,
    rejected: outcomes.flatMap(({ error, item, status }) =>
      status < 300 || status === 429
        ? []
        : [
            {
              url: item?.url ?? "",
              problem: `${error?.type ?? status}: ${error?.reason ?? ""}`.slice(0, maxReasonCharacters)
            }
          ]
    )
  }
}
