import { Effect } from "effect"
import { RequestId } from "../../../services/telemetry/RequestId.ts"

/**
 * Logs a denial with its request id. Find the client by that id in the proxy's log: this log has no client addresses.
 */
export const logDenial = (message: string, reason: string) =>
  Effect.flatMap(RequestId, (request_id) => Effect.annotateLogs(Effect.logInfo(message), { reason, request_id }))
