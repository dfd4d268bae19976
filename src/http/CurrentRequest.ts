import { Context, Effect } from "effect"

/** What the one log line of a request tells besides its edge, each part noted by whoever learns it. Times in milliseconds. */
export interface LogFields {
  /** The code of the error that was answered. */
  readonly outcome?: string
  readonly principal?: string
  readonly account_id?: string
  readonly target?: string
  readonly batch_id?: string
  readonly rows?: number
  readonly rows_failed?: number
  readonly credits?: number
  readonly cached?: boolean
  readonly provider?: string
  readonly reserve_ms?: number
  readonly search_ms?: number
  readonly settle_ms?: number
}

/** What is known of a request outside of its handler: middlewares and handlers write it down, the edge tells it. */
export interface RequestState {
  /** Carried by the response and its error envelope (R2). */
  readonly id: string
  readonly logFields: { -readonly [Name in keyof LogFields]: LogFields[Name] }
  /** Set on whatever response the request ends with, all at once: each setting copies the headers before it. */
  readonly headers: Record<string, string>
}

export const make = (id: string): RequestState => ({ id, logFields: {}, headers: {} })

/** Set by the edge for every request. */
export const CurrentRequest = Context.Reference<RequestState>("quarry/http/CurrentRequest", {
  defaultValue: () => make("00000000-0000-0000-0000-000000000000")
})

export const addLogFields = ({ logFields }: RequestState, learned: LogFields): void => {
  Object.assign(logFields, learned)
}

/** Sets headers on whatever response this request ends with, except on a 500, which carries `X-Request-Id` only (R1). */
export const setHeaders = ({ headers }: RequestState, more: Readonly<Record<string, string>>): void => {
  Object.assign(headers, more)
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The caller's id where it is a UUID of any version in any letter case; anything else is replaced by a new one. */
export const requestIdFrom = <E, R>(sent: unknown, fresh: Effect.Effect<string, E, R>): Effect.Effect<string, E, R> =>
  typeof sent === "string" && uuid.test(sent) ? Effect.succeed(sent) : fresh
