import { Effect } from "effect"
import { requestId } from "../../../services/telemetry/recording.ts"

/** This log has no client addresses: find the client by its request id in the proxy's log. */
export const logDenial = (message: string, reason: string) =>
  Effect.flatMap(requestId, (request_id) => Effect.annotateLogs(Effect.logInfo(message), { reason, request_id }))
