import { assert, describe, it } from "@effect/vitest"
import { Effect, Sink, Stdio, Stream } from "effect"
import { TestClock } from "effect/testing"
import { progressLine, withProgress } from "../../../src/cli/index/loadProgress.ts"

/** Passes a hundred documents, one a second, and gives what was written to stderr. */
const written = (stderrIsTerminal: boolean) =>
  Effect.gen(function* () {
    const texts: Array<string> = []
    const stdio = Stdio.layerTest({
      stderrIsTerminal: Effect.succeed(stderrIsTerminal),
      stderr: () => Sink.forEachArray((chunk) => Effect.sync(() => texts.push(...chunk.map(String))))
    })
    yield* Stream.range(1, 100).pipe(
      Stream.tap(() => TestClock.adjust("1 second")),
      withProgress("Loaded", Effect.succeed(0.5)),
      Stream.runDrain,
      Effect.provide(stdio)
    )
    return texts
  })

describe("progress of a load", () => {
  it("has the count, the rate and the time left", () => {
    assert.strictEqual(progressLine("Loaded", 12_500, 2_500, 0.25), "Loaded 12,500 documents, 5,000/s, 8 s left")
    assert.strictEqual(
      progressLine("Loaded", 1_000_000, 400_000, 0.5),
      "Loaded 1,000,000 documents, 2,500/s, 7 min left"
    )
    assert.strictEqual(progressLine("Checked", 10, 10_000_000, 0.5), "Checked 10 documents, 0/s, 2.8 h left")
  })

  it("says nothing of the time left before there is something to reckon from, nor at the end", () => {
    assert.strictEqual(progressLine("Loaded", 0, 0, 0), "Loaded 0 documents")
    assert.strictEqual(progressLine("Loaded", 100, 1_000, 1), "Loaded 100 documents, 100/s")
  })

  it.effect("rewrites one line on a terminal, and clears it at the end", () =>
    Effect.gen(function* () {
      const texts = yield* written(true)
      assert.isAbove(texts.length, 50)
      assert.strictEqual(texts[0], "\r\u001b[KLoaded 1 document, 1/s, 1 s left")
      assert.strictEqual(texts.at(-1), "\r\u001b[K")
    })
  )

  it.effect("writes a line every half minute elsewhere", () =>
    Effect.gen(function* () {
      const texts = yield* written(false)
      assert.deepStrictEqual(
        texts.map((text) => text.slice(0, 20)),
        ["Loaded 30 documents,", "Loaded 60 documents,", "Loaded 90 documents,"]
      )
      assert.isTrue(texts.every((text) => text.endsWith("\n")))
    })
  )
})
