import { randomBytes, randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { Ids } from "../services/Ids.ts"

/** Identifiers and secrets from the operating system's cryptographic generator. */
export const layer: Layer.Layer<Ids> = Layer.succeed(
  Ids,
  Ids.of({
    make: (prefix) => Effect.sync(() => prefix + randomBytes(16).toString("hex")),
    requestId: Effect.sync(() => randomUUID()),
    entropy: (count) => Effect.sync(() => new Uint8Array(randomBytes(count)))
  })
)
