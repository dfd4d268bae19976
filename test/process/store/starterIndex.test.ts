import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as DocumentFile from "../../../src/layers/index/DocumentFile.ts"
import { fill, fillIn, fillRest, fillRestIn } from "../../../src/process/store/starterIndex.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-starter-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const starterIndex = fileURLToPath(new URL("../../../data/starter-index.jsonl.gz", import.meta.url))

/** The addresses of the documents that a first start of an earlier version loaded before the others. */
const firstUrls = Effect.map(Stream.runCollect(Stream.take(DocumentFile.read(starterIndex), 1_000)), (documents) =>
  documents.map(({ url }) => url)
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
    count: (asked) => Effect.sync(() => asked.filter((url) => urls.has(url)).length),
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
        for (const url of yield* firstUrls) urls.add(url)
        writeFileSync(marker, "")
        yield* fillRestIn(dataDir)
        assert.isAbove(urls.size, 20_000)
        assert.isFalse(existsSync(marker))
      }).pipe(Effect.provide(Layer.mergeAll(addresses(urls), NodeServices.layer, Readiness.layer)))
    })
  )

  it.live("are loaded again once they have changed, and only then", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const urls = new Set<string>()
      yield* Effect.gen(function* () {
        yield* fillIn(dataDir)
        const all = urls.size
        const [gone = ""] = [...urls].slice(-1)
        urls.delete(gone)
        yield* fillRestIn(dataDir)
        assert.strictEqual(urls.size, all - 1)
        // As after an upgrade to a version with other documents.
        writeFileSync(join(dataDir, "starter-index.sha256"), "of other documents")
        yield* fillRestIn(dataDir)
        assert.strictEqual(urls.size, all)
      }).pipe(Effect.provide(Layer.mergeAll(addresses(urls), NodeServices.layer, Readiness.layer)))
    })
  )

  it.live("are not loaded by an upgrade into an index whose operator has replaced them", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryDirectory
      const urls = new Set((yield* Effect.provide(firstUrls, NodeServices.layer)).slice(0, 400))
      writeFileSync(join(dataDir, "starter-index.sha256"), "of other documents")
      const services = Layer.mergeAll(addresses(urls), NodeServices.layer, Readiness.layer)
      yield* Effect.provide(fillRestIn(dataDir), services)
      assert.strictEqual(urls.size, 400)
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
      yield* Effect.provide(fillRest(1_000), watched)
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
