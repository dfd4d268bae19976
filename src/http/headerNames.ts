export const rateLimitHeaderNames: ReadonlyArray<string> = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit"
]

export const quotaHeaderNames: ReadonlyArray<string> = [
  "X-Credits-Used",
  "X-Quota-Limit",
  "X-Quota-Used",
  "X-Quota-Remaining",
  "X-Credits-Balance",
  "X-Quota-Reset"
]

/** Headers that pages of other origins may read (R48). */
export const exposedHeaders: ReadonlyArray<string> = [
  "X-Request-Id",
  ...rateLimitHeaderNames,
  "Retry-After",
  ...quotaHeaderNames,
  "Idempotent-Replayed",
  "WWW-Authenticate"
]
