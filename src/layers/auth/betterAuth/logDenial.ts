import { Effect } from "effect"
import { RequestId } from "../../../services/telemetry/RequestId.ts"

/** This log has no client addresses: find the client by its request id in the proxy's log. */
export const logDenial = (message: string, reason: string) =>
  Effect.flatMap(RequestId, (request_id) => Effect.annotateLogs(Effect.logInfo(message), { reason, request_id }))
