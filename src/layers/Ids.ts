import { randomBytes, randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { Ids } from "../services/Ids.ts"

const idBytes = 16
const poolBytes = idBytes * 256

/** Drawn in bulk, because each draw is slow and a search needs two IDs. */
const makeHex = (): (() => string) => {
  let pool = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used === pool.length) {
      pool = randomBytes(poolBytes)
      used = 0
    }
    used += idBytes
    return pool.toString("hex", used - idBytes, used)
  }
}

const hex = makeHex()

export const layer: Layer.Layer<Ids> = Layer.succeed(
  Ids,
  Ids.of({
    make: (prefix) => Effect.sync(() => prefix + hex()),
    requestId: Effect.sync(() => randomUUID()),
    entropy: (count) => Effect.sync(() => new Uint8Array(randomBytes(count)))
  })
)
