import { type Cause, Effect } from "effect"
import { SqlError } from "effect/sql"
import { rootCauseMessage } from "../../domain/rootCause.ts"

/** Logs a database failure in one line without a stack trace, because every request repeats it during an outage. */
const logStorage = ({ message, reason }: SqlError.SqlError): Effect.Effect<void> =>
  Effect.logError(`Request failed because of a database error (${reason._tag}: ${rootCauseMessage(reason) || message})`)

export const logFault = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  for (const reason of cause.reasons) {
    const failure = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    if (SqlError.isSqlError(failure)) return logStorage(failure)
  }
  return Effect.logError("Request failed", cause)
}
