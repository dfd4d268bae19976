import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { fill, fillIn, fillRest, fillRestIn } from "../../../src/process/store/starterIndex.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-starter-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** An index that keeps addresses alone. */
const addresses = (urls: Set<string>) =>
  Layer.mock(DocumentIndex, {
    load: (documents) =>
      Effect.map(Stream.runCollect(documents), (all) => {
        for (const { url } of all) urls.add(url)
        return { written: all.length, removed: 0 }
      }),
    whileLoading: (work) => work,
    stats: Effect.sync(() => ({ documents: urls.size, byTarget: {} }))
  })

describe("the starter documents", () => {
  it.live("are all there before the first search", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const urls = new Set<string>()
      yield* Effect.provide(fillIn(dataDir), Layer.mergeAll(addresses(urls), NodeServices.layer))
      assert.isAbove(urls.size, 20_000)
      assert.isFalse(existsSync(join(dataDir, "starter-index.unfinished")))
    })
  )

  it.live("are not added to an index that has documents", () =>
    Effect.gen(function* () {
      const urls = new Set(["https://own.example/"])
      yield* Effect.provide(fill, Layer.mergeAll(addresses(urls), NodeServices.layer))
      assert.strictEqual(urls.size, 1)
    })
  )

  it.live("are completed in a store whose first start ended early", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const marker = join(dataDir, "starter-index.unfinished")
      const urls = new Set<string>()
      yield* Effect.gen(function* () {
        urls.add("https://first.example/")
        writeFileSync(marker, "")
        yield* fillRestIn(dataDir)
        // Without those that the first start loads.
        assert.isAbove(urls.size, 19_000)
        assert.isFalse(existsSync(marker))
      }).pipe(Effect.provide(Layer.mergeAll(addresses(urls), NodeServices.layer, Readiness.layer)))
    })
  )

  it.live("report how many are there while they are loaded behind the searches, and nothing afterwards", () =>
    Effect.gen(function* () {
      const readiness = yield* Readiness
      const seen: Array<unknown> = []
      const watched = Layer.mock(DocumentIndex, {
        load: (documents) =>
          Effect.gen(function* () {
            seen.push((yield* readiness.full).background)
            return { written: (yield* Stream.runCollect(documents)).length, removed: 0 }
          }),
        stats: Effect.succeed({ documents: 20_000, byTarget: {} })
      })
      yield* Effect.provide(fillRest, watched)
      assert.deepStrictEqual(seen.slice(0, 2), [
        { starter_documents: { done: 1_000 } },
        { starter_documents: { done: 1_500 } }
      ])
      assert.deepStrictEqual((yield* readiness.full).background, {})
    }).pipe(Effect.provide(Layer.merge(NodeServices.layer, Readiness.layer)))
  )

  it.live("do not come back once somebody has removed them", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const urls = new Set<string>()
      yield* Effect.gen(function* () {
        writeFileSync(join(dataDir, "starter-index.unfinished"), "")
        yield* fillRestIn(dataDir)
        assert.strictEqual(urls.size, 0)
        urls.add("https://own.example/")
        yield* fillRestIn(dataDir)
        assert.strictEqual(urls.size, 1)
      }).pipe(Effect.provide(Layer.mergeAll(addresses(urls), NodeServices.layer, Readiness.layer)))
    })
  )
})
