import type { Stream } from "effect"
import { HttpServerResponse } from "effect/http"

export const event = (message: string): Uint8Array => Buffer.from(`event: message\ndata: ${message}\n\n`)

export const progressEvent = (progressToken: string | number, progress: number, total: number): Uint8Array => {
  const params = { progressToken, progress, total, message: `${progress} of ${total} done` }
  return event(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }))
}

/** Keeps caches from storing a stream, and proxies from buffering its events. */
export const eventHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" }

export const eventsResponse = (events: Stream.Stream<Uint8Array>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(events, { contentType: "text/event-stream", headers: eventHeaders })
