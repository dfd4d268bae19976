/** One stretch of load, as it is handed to the process that makes it. */
export interface Job {
  /** Where requests go, connection by connection in turn. */
  readonly urls: ReadonlyArray<string>
  /** Bearer tokens, used in turn; none are sent when empty. */
  readonly secrets: ReadonlyArray<string>
  /** What is searched for begins with this. */
  readonly query: string
  /** Whether every search is for something else, so that no cache can answer. */
  readonly distinct: boolean
  /** Rows of each `POST /v1/bulk`; single searches when undefined. */
  readonly rows?: number | undefined
  /** Searches by a call of the tool at `/mcp`, in this revision of the protocol; by `GET /v1/query` when undefined. */
  readonly protocol?: "2025-11-25" | "2026-07-28" | undefined
  /** Whether each request has an idempotency key of its own. */
  readonly keyed?: boolean | undefined
  readonly seconds: number
  readonly shape: Closed | Paced
}

/** Each connection sends its next request as soon as the last one is answered. */
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
  /** From the first request to the last answer. */
  readonly seconds: number
  /** How often each status was answered. */
  readonly statuses: Readonly<Record<string, number>>
  /** Requests without an answer. */
  readonly errors: number
  readonly latencyMs: Latency
}

export interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}
