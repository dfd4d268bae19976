import type { Stream } from "effect"
import { HttpServerResponse } from "effect/http"

const start = Buffer.from("event: message\ndata: ")
const end = Buffer.from("\n\n")

export const event = (message: Uint8Array): Uint8Array => Buffer.concat([start, message, end])

export const progressEvent = (progressToken: string | number, progress: number, total: number): Uint8Array => {
  const params = { progressToken, progress, total, message: `${progress} of ${total} done` }
  return event(Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })))
}

/** Keeps caches from storing a stream, and proxies from buffering its events. */
export const eventHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" }

export const eventsResponse = (events: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(events, { contentType: "text/event-stream", headers: eventHeaders })
