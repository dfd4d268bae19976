import { Effect } from "effect"
import { RequestId } from "../../services/RequestId.ts"

/**
 * Logs that something was denied. The line has the id of the request, by which the proxy's log has the client: this log has
 * no client addresses.
 */
export const logDenial = (message: string, reason: string) =>
  Effect.flatMap(RequestId, (request_id) => Effect.annotateLogs(Effect.logInfo(message), { reason, request_id }))
