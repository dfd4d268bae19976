import { Stream } from "effect"
import { HttpServerResponse } from "effect/http"

export const event = (message: string): string => `event: message\ndata: ${message}\n\n`

export const progressEvent = (progressToken: string | number, progress: number, total: number): string => {
  const params = { progressToken, progress, total, message: `${progress} of ${total} done` }
  return event(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }))
}

/** Keeps caches from storing a stream, and proxies from buffering its events. */
export const eventHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" }

export const eventsResponse = (events: Stream.Stream<string>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(Stream.encodeText(events), { contentType: "text/event-stream", headers: eventHeaders })
