import { flushCompileCache } from "node:module"
import { Duration, Effect } from "effect"

/** The first requests run before the write, so that their code is included and they do not wait for it. */
const delay = Duration.seconds(5)

/** Node writes compiled code only at exit. A killed process writes none, and V8 may have discarded startup code. */
export const keepCompiledCode = Effect.forkScoped(
  Effect.delay(
    Effect.sync(() => flushCompileCache()),
    delay
  )
)
