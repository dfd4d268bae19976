import { createHook } from "node:async_hooks"

const waitMs = 300

/**
 * Returns how many pieces the decoders that `run` starts produce after it has ended. A count does not depend on the speed
 * of the machine, as CPU time does.
 */
export const decodedAfter = async (run: () => Promise<unknown>): Promise<number> => {
  const decoders = new Set<number>()
  let pieces = 0
  const hook = createHook({
    init: (id, type) => {
      if (type === "ZLIB") decoders.add(id)
    },
    before: (id) => {
      if (decoders.has(id)) pieces++
    }
  }).enable()
  try {
    await run()
    const before = pieces
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    return pieces - before
  } finally {
    hook.disable()
  }
}
