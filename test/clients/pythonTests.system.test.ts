import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeWithPython, python } from "../support/processes/Python.ts"
import { startServer } from "../support/processes/Spawned.ts"
import * as EmbeddedStore from "../support/stores/EmbeddedStore.ts"

const timeout = 400_000

describeWithPython("quarry-client, the Python client", () => {
  it.live(
    "passes its own tests, also against a Quarry that runs",
    () =>
      Effect.gen(function* () {
        const { port, server } = yield* startServer({ DATA_DIR: yield* EmbeddedStore.directory })
        const [secret = ""] = /sk_live_\w+/.exec(yield* server.said("curl")) ?? []
        const { code, stderr } = yield* python(["-m", "unittest"], {
          QUARRY_TEST_URL: `http://127.0.0.1:${port}`,
          QUARRY_TEST_KEY: secret
        })
        assert.strictEqual(code, 0, stderr)
        // The last lines are `Ran 84 tests in 9.8s` and `OK`, with a count of those that were skipped.
        assert.isAbove(Number(/^Ran (\d+) tests/m.exec(stderr)?.[1]), 70)
        if (process.env.QUARRY_REQUIRE_SERVICES === "1") assert.notInclude(stderr, "skipped=", "something is missing")
      }),
    timeout
  )
})
