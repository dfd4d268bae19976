import { Context } from "effect"

export type Lane = "requests" | "background" | "operator"

/** Background work has few connections, so that idle ones can close. Operator work has its own and never waits. */
export const DatabaseLane = Context.Reference<Lane>("quarry/services/DatabaseLane", {
  defaultValue: () => "requests"
})
