import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const start = (ending: string, format = "json") =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["test/support/processes/logger.ts", ending, format], {
        stdio: ["ignore", "pipe", "ignore"]
      })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const codeOf = (child: ChildProcess) => Effect.promise(async () => (await once(child, "close"))[0])

describe("the log of a process", () => {
  for (const [ending, code] of [
    ["returns", 0],
    ["exits", 3],
    ["throws", 1]
  ] as const) {
    it.live(`is whole and in order when it ${ending}`, () =>
      Effect.gen(function* () {
        const child = yield* start(ending)
        let text = ""
        child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
        assert.strictEqual(yield* codeOf(child), code)
        const entries = text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line))
        assert.deepStrictEqual(
          entries.map(({ annotations, level, message }) => [level, message, annotations.number]),
          Array.from({ length: 400 }, (_, number) => ["INFO", `line ${number}`, number])
        )
      })
    )
  }

  it.live("has a warning before what is said next", () =>
    Effect.gen(function* () {
      const child = yield* start("warns")
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
      yield* codeOf(child)
      assert.match(text, /"line 399".*\n.*"warned".*\nsaid\n$/)
    })
  )

  /** What the process says after its 400 lines. */
  const saysLong = Effect.fnUntraced(function* (format: string) {
    const child = yield* start("is long", format)
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    assert.strictEqual(yield* codeOf(child), 0)
    return text.slice(text.indexOf("begins"))
  })

  const maxLineBytes = 8_192

  it.live("has no line of more than 8 KiB, and each is JSON that begins as it was logged", () =>
    Effect.gen(function* () {
      const [, ...lines] = `\n{"message":"${yield* saysLong("json")}`.trimEnd().split("\n")
      assert.strictEqual(lines.length, 7)
      const entries = lines.map((line) => JSON.parse(line))
      for (const [index, { level, message, timestamp }] of entries.entries()) {
        assert.isAtMost(Buffer.byteLength(lines[index] ?? ""), maxLineBytes)
        assert.match(JSON.stringify(message), /begins/)
        assert.isString(timestamp)
        assert.strictEqual(level, index === 4 ? "ERROR" : "INFO")
      }
      assert.strictEqual(entries[5].annotations.kept, 1)
      assert.match(entries[5].annotations.long, /^Z+… \(900000 characters\)$/)
      assert.match(entries[4].cause, /^Error: Z+… \(\d+ characters\)$/)
    })
  )

  it.live("has no line of more than 8 KiB at a terminal either", () =>
    Effect.gen(function* () {
      const text = yield* saysLong("pretty")
      assert.strictEqual(text.match(/begins/g)?.length, 7)
      assert.match(text, /kept=1/)
      for (const line of text.split("\n")) assert.isAtMost(Buffer.byteLength(line), maxLineBytes)
    })
  )

  it.live("does not repeat a request's message as fields at a terminal, and keeps other fields of the same value", () =>
    Effect.gen(function* () {
      const child = yield* start("logs a request", "pretty")
      let text = ""
      child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece))
      assert.strictEqual(yield* codeOf(child), 0)
      assert.match(text, /^\d\d:\d\d:\d\d INFO line 0 number=0\n/)
      assert.match(text, /INFO GET \/v1\/query 200 duration_ms=200\n$/)
    })
  )

  it.live("ends nothing when its reader has gone away", () =>
    Effect.gen(function* () {
      const child = yield* start("goes on")
      yield* Effect.promise(() => once(child.stdout, "data"))
      child.stdout.destroy()
      assert.strictEqual(yield* codeOf(child), 0)
    })
  )
})
