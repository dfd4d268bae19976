import { Effect, Layer } from "effect"
import { Activity } from "../services/accounts/Activity.ts"

/** Records nothing, because the in-memory stores have no triggers. */
export const layer = Layer.succeed(Activity, {
  record: () => Effect.void,
  page: () => Effect.succeed({ entries: [], next: undefined })
})
