import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import type { PageCopy } from "../../../../src/domain/pages/PageBody.ts"
import { maxCopyBytes, PageCache } from "../../../../src/services/pages/PageCache.ts"

export const pageCopy = (finalUrl: string, text = 'quotes " and \u{1F600} and lone \uD800'): PageCopy => ({
  finalUrl,
  fetchedAt: 1_793_000_000_123,
  bytes: 4_711,
  page: {
    title: "T",
    description: null,
    author: null,
    siteName: "S",
    published: "2026-10-02",
    language: null,
    mediaType: "text/html",
    markdown: text,
    text,
    links: [{ url: "https://a.test/b", text: "b" }]
  }
})

/** What every layer of the cache of pages promises. */
export const pageCacheConformance = (name: string, layer: Layer.Layer<PageCache>): void => {
  describe(`PageCache: ${name}`, () => {
    it.live("R60: a copy is found under its final address and under the requested one", () =>
      Effect.gen(function* () {
        const cache = yield* PageCache
        const copy = pageCopy("https://a.test/there")
        yield* cache.set("https://a.test/moved", copy)
        for (const url of ["https://a.test/there", "https://a.test/moved"]) {
          assert.deepStrictEqual(yield* cache.get(url), copy)
        }
        assert.isUndefined(yield* cache.get("https://a.test/other"))
      }).pipe(Effect.provide(layer))
    )

    it.live("R60: a newer copy replaces the older one for every address that leads to it", () =>
      Effect.gen(function* () {
        const cache = yield* PageCache
        yield* cache.set("https://b.test/moved", pageCopy("https://b.test/there", "old"))
        yield* cache.set("https://b.test/there", pageCopy("https://b.test/there", "new"))
        assert.strictEqual((yield* cache.get("https://b.test/moved"))?.page.text, "new")
      }).pipe(Effect.provide(layer))
    )

    it.live("R60: a copy above the limit is not kept", () =>
      Effect.gen(function* () {
        const cache = yield* PageCache
        yield* cache.set("https://c.test/", pageCopy("https://c.test/", "x".repeat(maxCopyBytes)))
        assert.isUndefined(yield* cache.get("https://c.test/"))
      }).pipe(Effect.provide(layer))
    )
  })
}
