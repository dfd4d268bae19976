import { flushCompileCache } from "node:module"
import { Duration, Effect } from "effect"

/** Long enough for the first requests, whose code is kept too and which should not wait for the writing. */
const delay = Duration.seconds(5)

/**
 * Writes the code that a start has compiled into NODE_COMPILE_CACHE, where there is one. Node would do so at the end of the
 * process alone: not after a kill, and when V8 has thrown away the code of the start. Where it is there, nothing is written.
 */
export const keepCompiledCode = Effect.forkScoped(
  Effect.delay(
    Effect.sync(() => flushCompileCache()),
    delay
  )
)
