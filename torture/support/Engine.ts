import { fileURLToPath } from "node:url"
import { Deferred, Effect } from "effect"
import * as Subprocess from "./Subprocess.ts"

const program = fileURLToPath(new URL("fakeEngine.ts", import.meta.url))

/** Starts an engine for the lifetime of the scope, and returns its address. */
export const start = Effect.gen(function* () {
  const port = yield* Deferred.make<string>()
  yield* Subprocess.start(process.execPath, [program], {
    onLine: (line) => void Deferred.doneUnsafe(port, Effect.succeed(line))
  })
  return `http://127.0.0.1:${yield* Deferred.await(port)}`
})
