import { quality } from "../http/accept.ts"

/**
 * Decides between an event stream and JSON. Most clients list both types with one weight and get JSON, because it takes
 * one write. A client that accepts only events, or prefers them, gets a stream.
 */
export const wantsEvents = (accept: string | undefined): boolean =>
  accept !== undefined && quality(accept, "text/event-stream") > quality(accept, "application/json")
