import { Effect } from "effect"
import type { RecordFields, RequestState } from "../domain/requests/CurrentRequest.ts"
import { requestIdPattern } from "../domain/requests/requestId.ts"

export const addLogFields = (state: RequestState, fields: RecordFields): void => {
  Object.assign(state.fields, fields)
}

/** Adds response headers for success and error alike. A 500 omits them (R1). */
export const setHeaders = (state: RequestState, headers: Readonly<Record<string, string>>): void => {
  Object.assign(state.headers, headers)
}

/** Reuses the caller's request ID if it is a UUID of any version; otherwise generates one. */
export const requestIdFrom = <E, R>(
  header: unknown,
  makeId: Effect.Effect<string, E, R>
): Effect.Effect<string, E, R> =>
  typeof header === "string" && requestIdPattern.test(header) ? Effect.succeed(header) : makeId
