import { Effect, Result, Schema } from "effect"
import type { Refusal } from "../../../domain/providers/Refusal.ts"
import type { UpstreamRow } from "../../../domain/search/Organic.ts"
import * as Upstream from "../Upstream.ts"

const Texts = Schema.Struct({ title: Schema.String, description: Schema.optionalKey(Schema.String) })

const Source = Schema.StructWithRest(Schema.Struct({ url: Schema.String }), [
  Schema.Record(Schema.String, Schema.Union([Texts, Schema.String]))
])

const Hit = Schema.Struct({
  _source: Source,
  highlight: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String)))
})

const Answer = Schema.Struct({
  timed_out: Schema.Boolean,
  _shards: Schema.Struct({ total: Schema.Int, failed: Schema.Int }),
  hits: Schema.Struct({ hits: Schema.Array(Hit) })
})

const decode = Schema.decodeUnknownResult(Answer)

const toRow = ({ _source, highlight }: typeof Hit.Type): ReadonlyArray<UpstreamRow> => {
  const texts = Object.values(_source).find((value) => typeof value === "object")
  if (texts === undefined) return []
  const fragments = Object.values(highlight ?? {}).flat()
  const snippet = fragments.length === 0 ? (texts.description ?? "") : fragments.join(" … ")
  return [{ url: _source.url, title: texts.title, snippet }]
}

/** A partial answer without rows is an error: a shard that failed may have had some. */
export const readAnswer = (json: unknown): Effect.Effect<ReadonlyArray<UpstreamRow>, Refusal> => {
  const decoded = decode(json)
  if (Result.isFailure(decoded)) return Upstream.refuse("malformed", "its response is not the documented JSON")
  const { _shards, hits, timed_out } = decoded.success
  const rows = hits.hits.slice(0, Upstream.maxRows).flatMap(toRow)
  if (rows.length > 0) return Effect.succeed(rows)
  if (timed_out) return Upstream.refuse("timeout", "its search ended before it found anything")
  if (_shards.failed > 0) return Upstream.refuse("unreachable", "some of its shards failed")
  return hits.hits.length === 0
    ? Effect.succeed([])
    : Upstream.refuse("malformed", "its documents do not have the form of a Quarry index")
}
