import { PassThrough, Writable } from "node:stream"
import { finished } from "node:stream/promises"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { copyLines } from "../../../src/process/workers/WorkerProcess.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"

/** Cuts the bytes at these places. */
const pieces = (bytes: Buffer, cuts: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other)
  return [...places, bytes.length].map((place, index) => bytes.subarray(places[index - 1] ?? 0, place))
}

describe("the log of workers", () => {
  it("passes lines on whole and in order, however they arrive and however slow their reader is", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", ""))),
        fc.array(fc.nat()),
        fc.boolean(),
        async (lines, cuts, isCut) => {
          const text = lines.join("\n") + (isCut || lines.length === 0 ? "" : "\n")
          const written: Array<string> = []
          const to = new Writable({
            highWaterMark: 1,
            write: (chunk: Buffer, _encoding, done) => {
              written.push(chunk.toString())
              setImmediate(done)
            }
          })
          const from = new PassThrough()
          copyLines(from, to)
          for (const piece of pieces(Buffer.from(text), cuts)) from.write(piece)
          from.end()
          await finished(from)
          to.end()
          await finished(to)
          assert.strictEqual(written.join(""), text === "" || text.endsWith("\n") ? text : `${text}\n`)
          for (const piece of written) assert.isTrue(piece.endsWith("\n"))
        }
      ),
      { numRuns: wholeStackRuns }
    )
  })
})
