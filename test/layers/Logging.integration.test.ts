import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const start = (ending: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["test/support/logger.ts", ending], { stdio: ["ignore", "pipe", "ignore"] })
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
          Array.from({ length: 2_000 }, (_, number) => ["INFO", `line ${number}`, number])
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
      assert.match(text, /"line 1999".*\n.*"warned".*\nsaid\n$/)
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
