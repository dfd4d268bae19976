import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { maxRobotsBytes } from "../../../src/domain/pages/robots.ts"
import { makeRobotsFiles } from "../../../src/layers/pages/RobotsFiles.ts"

const heapBytes = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
  return process.memoryUsage().heapUsed
})

describe("robots.txt files", () => {
  it.effect("R83: what is kept of a file takes the room of its rules, not of the file", () =>
    Effect.gen(function* () {
      const start = "user-agent: *\ndisallow: /a/long/path/of/this/site\n#"
      const files = yield* makeRobotsFiles(() =>
        Effect.sync(() => {
          const body = Buffer.alloc(maxRobotsBytes, "a")
          body.write(start)
          return { response: { status: 200, body, header: () => undefined, lines: () => [] } }
        })
      )
      const read = (site: number) => files.rulesFor(new URL(`http://site${site}.test/`), "account", Duration.seconds(5))
      yield* read(0)
      const before = yield* heapBytes
      const count = 100
      for (let site = 1; site <= count; site++) assert.lengthOf(yield* read(site), 1)
      assert.isBelow((yield* heapBytes) - before, (count * maxRobotsBytes) / 10)
      assert.deepStrictEqual(yield* read(1), [{ isAllowed: false, pattern: "/a/long/path/of/this/site" }])
    }).pipe(Effect.scoped)
  )
})
