import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Bytes } from "../../../src/layers/outgoing/Bytes.ts"

const kib = 1024

const collect = (pieces: ReadonlyArray<Uint8Array>): Bytes => {
  const bytes = new Bytes()
  for (const piece of pieces) bytes.add(Buffer.from(piece))
  return bytes
}

/** The sizes of the blocks that a function allocates. */
const allocatedBy = (run: () => void): ReadonlyArray<number> => {
  const sizes: Array<number> = []
  const allocUnsafe = Buffer.allocUnsafe
  Buffer.allocUnsafe = (size) => {
    sizes.push(size)
    return allocUnsafe(size)
  }
  try {
    run()
  } finally {
    Buffer.allocUnsafe = allocUnsafe
  }
  return sizes
}

describe("the collected pieces of a body", () => {
  it("are the body, however it was cut, also if it is read in between", () =>
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 6 * kib }), { maxLength: 40 }),
        fc.nat(40),
        (pieces, readAfter) => {
          const bytes = collect(pieces.slice(0, readAfter))
          assert.strictEqual(bytes.whole.length, bytes.length)
          for (const piece of pieces.slice(readAfter)) bytes.add(Buffer.from(piece))
          assert.isTrue(bytes.whole.equals(Buffer.concat(pieces)))
        }
      )
    ))

  it("of a few kilobytes take no large block", () => {
    assert.deepStrictEqual(
      allocatedBy(() => void collect([Buffer.alloc(3_900), Buffer.alloc(1_300)])),
      [8 * kib]
    )
  })

  it("of one byte each take at most twice their length", () => {
    const count = 200 * kib
    const sizes = allocatedBy(() => void collect(Array.from({ length: count }, (_, at) => Uint8Array.of(at))))
    assert.isAtMost(
      sizes.reduce((sum, size) => sum + size, 0),
      2 * count
    )
  })
})
