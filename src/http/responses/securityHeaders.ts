import type { Headers } from "effect/http"

export interface SecurityHeaders {
  readonly cacheable: Readonly<Record<string, string>>
  /** For responses without `Cache-Control`. They may contain account data, so caches must not store them. */
  readonly private: Readonly<Record<string, string>>
}

const nosniff = { "x-content-type-options": "nosniff" }

export const noStore = { "cache-control": "no-store" }

/** One year is the minimum of browsers' preload lists. No `includeSubDomains`, because other hosts may need http. */
const strictTransport = { "strict-transport-security": "max-age=31536000" }

/** Omits HSTS over plain http, where it has no meaning (RFC 6797, 7.2). */
export const securityHeadersFor = (origin: string): SecurityHeaders => {
  const cacheable = origin.startsWith("https:") ? { ...nosniff, ...strictTransport } : nosniff
  return { cacheable, private: { ...cacheable, ...noStore } }
}

export const securityHeadersOf = (
  security: SecurityHeaders,
  response: Headers.Headers
): Readonly<Record<string, string>> => (response["cache-control"] === undefined ? security.private : security.cacheable)
