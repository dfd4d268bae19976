/** One stretch of load, as sent to the load generator. */
export interface Job {
  /** Targets of the requests. Connections are distributed round-robin. */
  readonly urls: ReadonlyArray<string>
  /** Bearer tokens, used round-robin. If empty, no token is sent. */
  readonly secrets: ReadonlyArray<string>
  /** Prefix of every query. */
  readonly query: string
  /** True if every query is different, so that none is cached. */
  readonly distinct: boolean
  /** Rows of each `POST /v1/bulk`. Undefined for single searches. */
  readonly rows?: number | undefined
  /** Searches through a tool call at `/mcp` with this protocol revision. Undefined for `GET /v1/query`. */
  readonly protocol?: "2025-11-25" | "2026-07-28" | undefined
  /** True if each request has its own idempotency key. */
  readonly keyed?: boolean | undefined
  /** True if the outcome lists each response that has a `traceresponse`. Only for closed loads. */
  readonly traced?: boolean | undefined
  readonly seconds: number
  readonly shape: Closed | Paced
}

/** Each connection sends its next request as soon as it has received the previous response. */
export interface Closed {
  readonly kind: "closed"
  readonly connections: number
}

/** Sends requests at fixed times, regardless of responses. Latency is measured from the scheduled time. */
export interface Paced {
  readonly kind: "paced"
  readonly perSecond: number
}

export interface Outcome {
  readonly requests: number
  /** Duration from the first request to the last response. */
  readonly seconds: number
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Requests without a response. */
  readonly errors: number
  readonly latencyMs: Latency
  readonly traces?: ReadonlyArray<Traced>
}

/** One response. Times are Unix milliseconds of the client. */
export interface Traced {
  readonly traceId: string
  readonly sentAt: number
  readonly receivedAt: number
}

export interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}
