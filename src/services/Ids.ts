import { Context, type Effect } from "effect"

/** Random IDs and secrets. A service, so that tests can make them predictable. */
export class Ids extends Context.Service<
  Ids,
  {
    /** Returns the prefix and 128 random bits in hex. */
    readonly make: (
      prefix: "acc_" | "bat_" | "hld_" | "key_" | "mem_" | "pag_" | "qry_" | "rep_" | "whk_"
    ) => Effect.Effect<string>
    readonly requestId: Effect.Effect<string>
    readonly entropy: (count: number) => Effect.Effect<Uint8Array>
  }
>()("quarry/services/Ids") {}
