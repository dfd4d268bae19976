import type { Headers } from "effect/http"

/** Headers that protect answers in browsers and caches. Made once: every answer carries some of them. */
export interface SecurityHeaders {
  /** For an answer that says itself how long it may be kept. */
  readonly cacheable: Readonly<Record<string, string>>
  /** For every other answer: it may hold an account's data, so no cache keeps it. */
  readonly private: Readonly<Record<string, string>>
}

/** A browser takes the declared content type and does not guess a more dangerous one. */
const nosniff = { "x-content-type-options": "nosniff" }

export const noStore = { "cache-control": "no-store" }

/** A year, as browsers' preload lists ask for at least. Other hosts of the domain are not ours to decide about. */
const strictTransport = { "strict-transport-security": "max-age=31536000" }

/** `origin` is the address that clients use: over plain http `Strict-Transport-Security` has no meaning (RFC 6797, 7.2). */
export const securityHeadersFor = (origin: string): SecurityHeaders => {
  const cacheable = origin.startsWith("https:") ? { ...nosniff, ...strictTransport } : nosniff
  return { cacheable, private: { ...cacheable, ...noStore } }
}

/** The headers for an answer: private, unless it says itself how long it may be kept. */
export const securityHeadersOf = (
  security: SecurityHeaders,
  answer: Headers.Headers
): Readonly<Record<string, string>> => (answer["cache-control"] === undefined ? security.private : security.cacheable)
