import { Cause, Predicate } from "effect"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import { isOperatorError } from "../../domain/OperatorError.ts"
import { rootCauseMessage } from "../../domain/rootCause.ts"

const codeOf = (error: unknown): unknown => (Predicate.hasProperty(error, "code") ? error.code : undefined)

/** By SQLSTATE. The driver has no classes for the errors of a reachable server. */
const explanations: ReadonlyMap<unknown, string> = new Map([
  ["25006", "The database takes no writes: it is a standby or set to read only. Point DATABASE_URL to the primary"],
  ["53100", "The disk of the database is full. Free some space"],
  ["53200", "The database server is out of memory"],
  ["53300", "The database has no free connections. Lower DATABASE_POOL_SIZE or raise max_connections"],
  ["57P01", "The database server is shutting down. Try again when it is up"],
  ["57P02", "The database server crashed. Try again when it is up"],
  ["57P03", "The database server is starting. Try again when it is up"]
])

const explainSql = ({ reason }: SqlError.SqlError): string | undefined => {
  switch (reason._tag) {
    case "ConnectionError":
      return `The database cannot be reached (${rootCauseMessage(reason)}). Check DATABASE_URL and that the server is up.`
    case "AuthorizationError":
      return `The user in DATABASE_URL lacks a permission (${rootCauseMessage(reason)}). See docs/operate/postgres.md.`
    case "AuthenticationError":
      return `The database rejected the credentials in DATABASE_URL (${rootCauseMessage(reason)}).`
    default: {
      const known = explanations.get(codeOf(reason.cause))
      if (known !== undefined) return `${known} (${rootCauseMessage(reason)}).`
      if (/unsupported startup parameter/i.test(rootCauseMessage(reason))) {
        return `A pooler rejected the connection (${rootCauseMessage(reason)}). Set DATABASE_PREPARE=false.`
      }
      return reason.operation === "connect"
        ? `The database rejected the connection: ${rootCauseMessage(reason)}.`
        : undefined
    }
  }
}

const explainError = (error: unknown): string | undefined => {
  if (isOperatorError(error)) return error.message
  if (SqlError.isSqlError(error)) return explainSql(error)
  if (codeOf(error) === "EADDRINUSE")
    return `${rootCauseMessage(error)}. Another process uses this port. Set PORT or ADMIN_PORT to a free one.`
  if (codeOf(error) === "EACCES" && Predicate.hasProperty(error, "syscall") && error.syscall === "listen") {
    return `${rootCauseMessage(error)}. Ports below 1024 require privileges. Set PORT or ADMIN_PORT to another one.`
  }
  const explained = Predicate.hasProperty(error, "cause") ? explainError(error.cause) : undefined
  if (explained === undefined && error instanceof HttpServerError.ServeError) {
    return `${rootCauseMessage(error)}. Set HOST and ADMIN_HOST to addresses of this machine.`
  }
  return explained
}

/** Undefined for a bug in Quarry. Includes defects, because layers turn storage failures into defects. */
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
