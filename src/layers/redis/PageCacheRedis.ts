import { hash } from "node:crypto"
import { Effect, Layer, Option, Schema } from "effect"
import { maxAgeSeconds } from "../../domain/pages/PageRequest.ts"
import { maxCopyBytes, PageCache } from "../../services/pages/PageCache.ts"
import { RedisConnection } from "./RedisConnection.ts"

const text = Schema.NullOr(Schema.String)

const Copy = Schema.Struct({
  finalUrl: Schema.String,
  fetchedAt: Schema.Finite,
  bytes: Schema.Int,
  reader: Schema.optionalKey(Schema.String),
  page: Schema.Struct({
    title: text,
    description: text,
    author: text,
    siteName: text,
    published: text,
    language: text,
    mediaType: Schema.String,
    markdown: Schema.String,
    text: Schema.String,
    links: Schema.Array(Schema.Struct({ url: Schema.String, text: Schema.String }))
  })
})

/** Entries of another version may not decode. */
const Kept = Schema.fromJsonString(
  Schema.Union([Schema.Struct({ copy: Copy }), Schema.Struct({ movedTo: Schema.String })])
)

const decode = Schema.decodeUnknownOption(Kept)

const lifetimeMs = maxAgeSeconds * 1000

const keyOf = (url: string): string => `quarry:page:${hash("sha256", url, "base64url")}`

/** While Redis is down every lookup misses, and no page fails or waits. */
export const layer: Layer.Layer<PageCache, never, RedisConnection> = Layer.effect(
  PageCache,
  Effect.map(RedisConnection, (connection) => {
    const read = (url: string) =>
      connection
        .run((client) => client.get(keyOf(url)))
        .pipe(
          Effect.map((text) => (text === null ? undefined : Option.getOrUndefined(decode(text)))),
          Effect.orElseSucceed(() => undefined)
        )
    const write = (url: string, value: string) =>
      connection.send((client) => client.set(keyOf(url), value, "PX", lifetimeMs))

    return PageCache.of({
      get: Effect.fnUntraced(function* (url) {
        const kept = yield* read(url)
        if (kept === undefined || "copy" in kept) return kept?.copy
        const moved = yield* read(kept.movedTo)
        return moved !== undefined && "copy" in moved ? moved.copy : undefined
      }),
      set: Effect.fnUntraced(function* (url, copy) {
        // JSON of a copy with too much text would be made only to be dropped.
        if (copy.page.markdown.length + copy.page.text.length > maxCopyBytes) return
        const value = JSON.stringify({ copy })
        if (Buffer.byteLength(value) > maxCopyBytes) return
        yield* write(copy.finalUrl, value)
        if (url !== copy.finalUrl) yield* write(url, JSON.stringify({ movedTo: copy.finalUrl }))
      })
    })
  })
)
