import { Context, Effect } from "effect"

/** The id that a response and its error envelope carry (R2). Set by the edge for every request. */
export const RequestId = Context.Reference<string>("quarry/http/RequestId", {
  defaultValue: () => "00000000-0000-0000-0000-000000000000"
})

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The caller's id where it is a UUID of any version in any letter case; anything else is replaced by a new one. */
export const requestIdFrom = <E, R>(sent: unknown, fresh: Effect.Effect<string, E, R>): Effect.Effect<string, E, R> =>
  typeof sent === "string" && uuid.test(sent) ? Effect.succeed(sent) : fresh
