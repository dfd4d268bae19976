import { gzipSync } from "node:zlib"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Stream } from "effect"
import * as DocumentFile from "../../../src/layers/index/DocumentFile.ts"

const page = (n: number) => ({ url: `https://example.org/${n}`, title: `Page ${n}`, description: "" })

/** Reads a file of that name with that content. */
const read = (name: string, content: string | Uint8Array) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const path = (yield* Path.Path).join(yield* files.makeTempDirectoryScoped(), name)
    yield* files.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content)
    return yield* Stream.runCollect(DocumentFile.read(path))
  }).pipe(Effect.provide(NodeServices.layer))

const lines = (...documents: ReadonlyArray<unknown>) => documents.map((it) => JSON.stringify(it)).join("\n")

describe("DocumentFile", () => {
  it.effect("reads one document a line, plain or gzipped, and skips empty lines", () =>
    Effect.gen(function* () {
      const text = `${lines(page(1))}\r\n\n${lines({ ...page(2), language: "en" })}\n`
      const expected = [page(1), { ...page(2), language: "en" }]
      assert.deepStrictEqual(yield* read("a.jsonl", text), expected)
      assert.deepStrictEqual(yield* read("a.jsonl.gz", gzipSync(text)), expected)
    })
  )

  it.effect.each([
    ["{", "line 3: "],
    [lines({ ...page(3), url: "ftp://example.org" }), "line 3: url must be an absolute http(s) address"],
    [lines({ ...page(3), title: undefined }), "line 3: title "],
    [JSON.stringify("x".repeat(1_000_001)), "line 3: longer than 1000000 characters"]
  ] as const)("names the line without a document", ([line, message]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(read("a.jsonl", `${lines(page(1))}\n\n${line}\n`))
      assert.include(failure.message, message)
    })
  )

  it.effect("says that a .gz file is not gzipped", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(read("a.jsonl.gz", lines(page(1))))
      assert.match(failure.message, /cannot be read: .*header/)
    })
  )
})
