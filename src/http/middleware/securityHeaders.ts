import type { Headers } from "effect/http"

/** Headers that protect responses in browsers and caches. Made once, because every response has them. */
export interface SecurityHeaders {
  /** Headers of a response with a `Cache-Control` of its own. */
  readonly cacheable: Readonly<Record<string, string>>
  /** Headers of every other response. It may hold an account's data, so that no cache may store it. */
  readonly private: Readonly<Record<string, string>>
}

/** Stops browsers from guessing another content type than the declared one, such as HTML. */
const nosniff = { "x-content-type-options": "nosniff" }

export const noStore = { "cache-control": "no-store" }

/** One year, the minimum of browsers' preload lists. Without `includeSubDomains`, because other hosts may need http. */
const strictTransport = { "strict-transport-security": "max-age=31536000" }

/** Makes the headers for the origin that clients use. Over plain http HSTS has no meaning (RFC 6797, 7.2). */
export const securityHeadersFor = (origin: string): SecurityHeaders => {
  const cacheable = origin.startsWith("https:") ? { ...nosniff, ...strictTransport } : nosniff
  return { cacheable, private: { ...cacheable, ...noStore } }
}

/** Selects the headers of a response: private unless it has a `Cache-Control` of its own. */
export const securityHeadersOf = (
  security: SecurityHeaders,
  response: Headers.Headers
): Readonly<Record<string, string>> => (response["cache-control"] === undefined ? security.private : security.cacheable)
