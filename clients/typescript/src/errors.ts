import type { ApiError } from "./api.ts"
import type { Meta } from "./meta.ts"

/** The end of a call that got no answer of the API. */
export type LocalError =
  | {
      /** No whole answer arrived. */
      readonly error: "network"
      readonly message: string
      /** Of an answer that is not Quarry's, such as a proxy's error page. */
      readonly status?: number
    }
  | {
      /** The call's time was over. */
      readonly error: "timeout"
      readonly message: string
    }
  | {
      /** The caller's signal aborted the call. */
      readonly error: "aborted"
      readonly message: string
    }
  | {
      /** A stream ended before its summary. The rows that arrived are charged, and others may be. */
      readonly error: "cut"
      readonly message: string
      /** The number of rows that arrived. */
      readonly rows: number
    }

export interface CallFacts {
  /** The requests that the call has sent. */
  readonly attempts: number
  /** Of the answer with this error. */
  readonly meta?: Meta
  /** The time after which the server asks to try again. */
  readonly retryAfterMs?: number
  /** A later call with the same key gets the answer that this one has lost, unless nothing was charged. */
  readonly idempotencyKey?: string
}

export type ErrorFields = ApiError | LocalError

/** An error of this client; `error` says which. A server that is newer than the client may have further codes. */
export type QuarryError = Error & CallFacts & ErrorFields

export const makeError = ({ message, ...fields }: ErrorFields & CallFacts, cause?: unknown): QuarryError =>
  Object.assign(new Error(message, { cause }), { name: "QuarryError" }, fields) as QuarryError // The fields are of one of its kinds.

/** True for the errors of every copy of this package. */
export const isQuarryError = (value: unknown): value is QuarryError =>
  value instanceof Error && value.name === "QuarryError"
