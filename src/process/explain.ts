import { Cause, Predicate } from "effect"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import { isOperatorError } from "../domain/OperatorError.ts"
import { rootCauseMessage } from "../domain/rootCause.ts"

const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : undefined)

/** Faults of a server that is reached, by their SQLSTATE. They come as errors without a class of their own. */
const mendable: ReadonlyMap<unknown, string> = new Map([
  ["25006", "The database takes no writes: it is a standby, or set to read only. Lead DATABASE_URL to the primary"],
  ["53100", "The disk of the database is full. Make room there"],
  ["53200", "The database server has no memory left"],
  ["53300", "The database has no connection left: lower DATABASE_POOL_SIZE, or raise max_connections"],
  ["57P01", "The database server ends. Try again when it is up"],
  ["57P02", "The database server crashed. Try again when it is up"],
  ["57P03", "The database server starts. Try again when it is up"]
])

const explainSql = ({ reason }: SqlError.SqlError): string | undefined => {
  switch (reason._tag) {
    case "ConnectionError":
      return `The database cannot be reached (${rootCauseMessage(reason)}). Check DATABASE_URL and that the server is up.`
    case "AuthorizationError":
      return `The user of DATABASE_URL may not do that (${rootCauseMessage(reason)}): see docs/operate/postgres.md.`
    case "AuthenticationError":
      return `The database refuses the credentials in DATABASE_URL (${rootCauseMessage(reason)}).`
    default: {
      const known = mendable.get(codeOf(reason.cause))
      if (known !== undefined) return `${known} (${rootCauseMessage(reason)}).`
      return reason.operation === "connect"
        ? `The database refuses the connection: ${rootCauseMessage(reason)}.`
        : undefined
    }
  }
}

const explainError = (error: unknown): string | undefined => {
  if (isOperatorError(error)) return error.message
  if (SqlError.isSqlError(error)) return explainSql(error)
  if (codeOf(error) === "EADDRINUSE")
    return `${rootCauseMessage(error)}. Another process has that port: set PORT or ADMIN_PORT.`
  if (codeOf(error) === "EACCES" && Predicate.hasProperty(error, "syscall") && error.syscall === "listen") {
    return `${rootCauseMessage(error)}. Ports below 1024 need privileges: set PORT or ADMIN_PORT.`
  }
  const explained = Predicate.hasProperty(error, "cause") ? explainError(error.cause) : undefined
  if (explained === undefined && error instanceof HttpServerError.ServeError) {
    return `${rootCauseMessage(error)}. Set HOST and ADMIN_HOST to addresses of this machine.`
  }
  return explained
}

/**
 * The message for the operator when a process ends with `cause`; undefined when the fault is ours, which deserves the
 * whole cause. Defects are read too, because a layer turns the failures of its storage into defects.
 */
export const explain = (cause: Cause.Cause<unknown>): string | undefined => {
  for (const reason of cause.reasons) {
    const message = Cause.isFailReason(reason)
      ? explainError(reason.error)
      : Cause.isDieReason(reason)
        ? explainError(reason.defect)
        : undefined
    if (message !== undefined) return message
  }
  return undefined
}
