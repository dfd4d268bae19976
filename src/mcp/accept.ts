import { quality } from "../http/requests/accept.ts"

const events = "text/event-stream"

/** At equal weight, prefers JSON, because it takes one write. */
export const wantsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && quality(accept, events) > quality(accept, "application/json")

/** True if a call's response may be a stream with progress. */
export const acceptsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && quality(accept, events) > 0
