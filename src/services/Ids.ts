import { Context, type Effect } from "effect"

/** Random identifiers and secrets. They are a service, so that tests can make them predictable. */
export class Ids extends Context.Service<
  Ids,
  {
    /** `prefix` and 32 hex characters, 128 random bits. */
    readonly make: (prefix: "acc_" | "bat_" | "hld_" | "key_" | "qry_" | "rep_" | "whk_") => Effect.Effect<string>
    /** A random UUID for a request without a valid id of its own (R2). */
    readonly requestId: Effect.Effect<string>
    /** `count` bytes from a cryptographic random generator. */
    readonly entropy: (count: number) => Effect.Effect<Uint8Array>
  }
>()("quarry/services/Ids") {}
