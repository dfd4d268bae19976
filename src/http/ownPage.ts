import type { Headers } from "effect/http"

/** Browsers name the page's origin themselves: no page can claim another's. The older header decides where both are. */
export const isOwnPage = (headers: Headers.Headers, origin: string): boolean =>
  headers.origin === undefined ? headers["sec-fetch-site"] === "same-origin" : headers.origin === origin
