import { intakeLimits } from "../requests/Intake.ts"
import type { ListenerLimits } from "./NodeListener.ts"

export const limits: ListenerLimits = {
  /** Further connections are closed without a response, because sending one costs too much. */
  maxConnections: 8192,
  ...intakeLimits,
  /** Pipelined requests per connection. Further requests get `rate_limited`, in order (R57). */
  maxPipelinedRequests: 64,
  /** Unread response bytes over all connections. Above it, the slowest readers are disconnected. */
  maxUnreadBytes: 64 * 1024 * 1024,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** Longer than the 60 s of common load balancers, so that they close idle connections first. */
  keepAliveTimeoutMs: 65_000,
  /** No bytes in either direction. Longer than the longest batch. */
  inactivityTimeoutMs: 120_000,
  lingerMs: 500,
  probeAfterMs: 250
}
