import { Effect } from "effect"
import { CurrentRequest } from "../../domain/requests/CurrentRequest.ts"
import { setHeaders } from "../requestState.ts"

export const withRetryAfter = <A, E extends object, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapError(effect, (error) => {
    const seconds = "retryAfterSeconds" in error ? error.retryAfterSeconds : undefined
    if (typeof seconds !== "number") return Effect.void
    return Effect.map(CurrentRequest, (state) => setHeaders(state, { "retry-after": String(seconds) }))
  })
