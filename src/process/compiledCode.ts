import { flushCompileCache } from "node:module"
import { Duration, Effect } from "effect"

/** Leaves time for the first requests: their code is kept too, and they should not wait for the writing. */
const delay = Duration.seconds(5)

/**
 * Writes the compiled code of a start into the folder of NODE_COMPILE_CACHE, if that is set. Node itself writes only at the
 * end of the process: a process that is killed writes nothing, and V8 may have thrown the code of the start away by then.
 * Code that the folder has already is not written again.
 */
export const keepCompiledCode = Effect.forkScoped(
  Effect.delay(
    Effect.sync(() => flushCompileCache()),
    delay
  )
)
