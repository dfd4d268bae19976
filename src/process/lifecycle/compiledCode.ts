import { flushCompileCache } from "node:module"
import { Duration, Effect } from "effect"

/** Lets the first requests run before the write, so that their code is included and they do not wait for it. */
const delay = Duration.seconds(5)

/**
 * Writes compiled code to the folder in `NODE_COMPILE_CACHE`, if set. Node itself does so only at exit: a killed process
 * writes nothing, and by then V8 may have discarded the code that ran at startup.
 */
export const keepCompiledCode = Effect.forkScoped(
  Effect.delay(
    Effect.sync(() => flushCompileCache()),
    delay
  )
)
