import { Context } from "effect"

export type Lane = "requests" | "background" | "operator"

/**
 * Selects the database connections of a fiber. Background work shares a few connections with requests, so that idle
 * ones can be closed. Operator work has its own connection, so that health checks and `status` do not wait for
 * requests.
 */
export const DatabaseLane = Context.Reference<Lane>("quarry/references/DatabaseLane", {
  defaultValue: () => "requests"
})
