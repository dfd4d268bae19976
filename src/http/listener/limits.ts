import { intakeLimits } from "./Intake.ts"
import type { ListenerLimits } from "./NodeListener.ts"

/** The limits of the public listener and its connections. */
export const limits: ListenerLimits = {
  /** Connections above it are closed without an answer, because an answer costs more than the limit may. */
  maxConnections: 8192,
  /** Requests and bodies above these limits are answered `rate_limited` (R57). */
  ...intakeLimits,
  /** Unanswered requests on one connection. One above them is answered `rate_limited`, in its turn (R57). */
  maxPipelinedRequests: 64,
  /** Bytes of answers that clients have not read, over all connections. Beyond it the slowest readers are cut off. */
  maxUnreadBytes: 64 * 1024 * 1024,
  /** Request line and headers together (R2). */
  maxHeaderBytes: 16 * 1024,
  /** For the headers of a request to arrive. */
  headersTimeoutMs: 10_000,
  /** For a whole request to arrive. */
  requestTimeoutMs: 30_000,
  /** For the next request on an idle connection: longer than the 60 s of common load balancers, which close first. */
  keepAliveTimeoutMs: 65_000,
  /** Without a byte in either direction, as with a client that does not read. Longer than the longest batch. */
  inactivityTimeoutMs: 120_000,
  /** For a client to read an error before its connection is destroyed. */
  lingerMs: 500,
  /** From a client's closing of its direction to an interim response, which shows if it has left. */
  probeAfterMs: 250
}
