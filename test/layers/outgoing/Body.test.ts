import { randomBytes } from "node:crypto"
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import { Body, type BodyOptions, type BodyResult } from "../../../src/layers/outgoing/Body.ts"
import type { Coding } from "../../../src/layers/outgoing/ContentCoding.ts"
import { decodedAfter } from "../../support/decodedAfter.ts"

const maxBytes = 1024 * 1024

/** 64 MiB of one letter, in a few hundred bytes for Brotli. */
const large = Buffer.alloc(64 * 1024 * 1024, "a")
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

const bombs: ReadonlyArray<readonly [string, Coding, Buffer]> = [
  ["gzip", "gzip", gzipSync(large)],
  ["deflate", "deflate", deflateSync(large)],
  ["raw deflate", "deflate", deflateRawSync(large)],
  ["br", "br", brotliCompressSync(large, fast)]
]

interface Reading {
  readonly body: Body
  readonly ended: Promise<BodyResult>
  readonly calls: Array<"pause" | "resume" | "close">
}

const read = (options: Partial<BodyOptions> & Pick<BodyOptions, "coding">): Reading => {
  const calls: Reading["calls"] = []
  const source = {
    pause: () => void calls.push("pause"),
    resume: () => void calls.push("resume"),
    close: () => void calls.push("close")
  }
  let end: (result: BodyResult) => void = () => undefined
  const ended = new Promise<BodyResult>((resolve) => {
    end = resolve
  })
  return { body: new Body({ maxBytes, ...options }, source, (result) => end(result)), ended, calls }
}

/** A piece may already be on its way. */
const maxPieces = 1

/** Not the bytes: a failed assertion would print all of a bomb. */
const failureOf = (result: BodyResult) => (Result.isFailure(result) ? result.failure.kind : "none")

describe("a response body", () => {
  it.effect("is the same however it is coded and cut into chunks", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.uint8Array({ maxLength: 5_000 }),
          fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 }),
          fc.constantFrom<readonly [Coding, (body: Uint8Array) => Buffer]>(
            ["identity", Buffer.from],
            ["gzip", (body) => gzipSync(body)],
            ["deflate", (body) => deflateSync(body)],
            ["deflate", (body) => deflateRawSync(body)],
            ["br", (body) => brotliCompressSync(body)]
          ),
          async (bytes, sizes, [coding, encode]) => {
            const { body, ended } = read({ coding })
            const sent = encode(bytes)
            for (let at = 0, turn = 0; at < sent.length; turn++) {
              const size = sizes[turn % sizes.length] ?? 1
              body.write(sent.subarray(at, at + size))
              at += size
              if (turn % 3 === 0) await Promise.resolve()
            }
            body.end()
            const result = await ended
            assert.isTrue(Result.isSuccess(result) && result.success.equals(bytes))
          }
        ),
        { numRuns: 60 }
      )
    )
  )

  for (const [name, coding, bomb] of bombs) {
    it.live(`R83: ${name}: a bomb ends at the limit, and nothing is decompressed afterwards`, () =>
      Effect.promise(async () => {
        const pieces = await decodedAfter(async () => {
          const { body, calls, ended } = read({ coding })
          body.write(bomb)
          body.end()
          assert.strictEqual(failureOf(await ended), "too_large")
          assert.deepStrictEqual(calls.at(-1), "close")
        })
        assert.isAtMost(pieces, maxPieces)
      })
    )

    it.live(`R83: ${name}: a bomb that its caller leaves is no longer decompressed`, () =>
      Effect.promise(async () => {
        const pieces = await decodedAfter(async () => {
          const { body, calls } = read({ coding, maxBytes: Number.POSITIVE_INFINITY })
          body.write(bomb)
          body.end()
          await new Promise(setImmediate)
          body.close()
          assert.deepStrictEqual(calls.at(-1), "close")
        })
        assert.isAtMost(pieces, maxPieces)
      })
    )
  }

  it.live("R83: a bomb whose connection fails is no longer decompressed", () =>
    Effect.promise(async () => {
      const pieces = await decodedAfter(async () => {
        const { body, ended } = read({ coding: "br", maxBytes: Number.POSITIVE_INFINITY })
        body.write(bombs[3]?.[2] ?? Buffer.alloc(0))
        body.fail(Object.assign(new Error("reset"), { code: "ECONNRESET" }))
        assert.deepStrictEqual(failureOf(await ended), "lost")
      })
      assert.isAtMost(pieces, maxPieces)
    })
  )

  it.live("is cut at the limit where the caller wants its start, and is copied once", () =>
    Effect.promise(async () => {
      const { body, ended } = read({ coding: "br", isCut: true })
      body.write(bombs[3]?.[2] ?? Buffer.alloc(0))
      const before = process.cpuUsage().user
      const result = await ended
      assert.isTrue(Result.isSuccess(result) && result.success.equals(large.subarray(0, maxBytes)))
      assert.isBelow((process.cpuUsage().user - before) / 1000, 1_000)
    })
  )

  it.live("makes its source wait while the decoder is busy", () =>
    Effect.promise(async () => {
      const { body, calls, ended } = read({ coding: "gzip", maxBytes: 16 * 1024 * 1024 })
      const noise = randomBytes(4 * 1024 * 1024)
      const sent = gzipSync(noise)
      for (let at = 0; at < sent.length; at += 16_384) body.write(sent.subarray(at, at + 16_384))
      assert.deepStrictEqual(calls, ["pause"])
      body.end()
      const result = await ended
      assert.isTrue(Result.isSuccess(result) && result.success.equals(noise))
      assert.deepStrictEqual(calls, ["pause", "resume", "close"])
    })
  )

  it.live("of many short chunks is refused beyond its free chunks, and joined for the decoder before", () =>
    Effect.promise(async () => {
      const some = read({ coding: "identity", freeChunks: 100 })
      for (let at = 0; at < 1_000; at++) some.body.write(Buffer.from("a"))
      assert.strictEqual(failureOf(await some.ended), "too_large")
      const bytes = gzipSync(Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * at) % 251)))
      const { body, ended } = read({ coding: "gzip" })
      const before = process.cpuUsage()
      for (const byte of bytes) body.write(Buffer.from([byte]))
      body.end()
      assert.isTrue(Result.isSuccess(await ended))
      const { system, user } = process.cpuUsage(before)
      assert.isBelow((system + user) / 1000, 500)
    })
  )

  it.live("that is invalid or cut off is undecodable", () =>
    Effect.promise(async () => {
      const text = Buffer.from("text".repeat(1_000))
      const sent: ReadonlyArray<readonly [Coding, Buffer]> = [
        ["gzip", Buffer.from("no gzip")],
        ["gzip", gzipSync(text).subarray(0, 20)],
        ["deflate", deflateSync(text).subarray(0, 10)],
        ["br", brotliCompressSync(text).subarray(0, 10)]
      ]
      for (const [coding, bytes] of sent) {
        const { body, ended } = read({ coding })
        body.write(bytes)
        body.end()
        assert.strictEqual(failureOf(await ended), "undecodable", coding)
      }
    })
  )
})
