import { Effect } from "effect"
import { Audit, type AuditRecord } from "./Audit.ts"
import { CurrentOperator } from "./CurrentOperator.ts"

/** Undefined arguments are left out of the audit log. */
type Arguments = Readonly<Record<string, AuditRecord["arguments"][string] | undefined>>

export interface Command extends Pick<AuditRecord, "command" | "subject"> {
  /** Must not contain secrets, email addresses, or key names: audit entries outlive the account. */
  readonly arguments?: Arguments
}

const withoutUndefined = (all: Arguments): AuditRecord["arguments"] =>
  Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

const toRecord = (by: string, { arguments: all = {}, ...command }: Command): AuditRecord => ({
  ...command,
  operator: by,
  arguments: withoutUndefined(all)
})

/** Commits the change and its audit record in one transaction. `Audit.recorded` lists the restrictions. */
export const audited = Effect.fnUntraced(function* <A, E, R>(
  change: Effect.Effect<A, E, R>,
  commandOf: (result: A) => Command
) {
  const by = yield* CurrentOperator
  const audit = yield* Audit
  return yield* audit.recorded(change, (result) => toRecord(by, commandOf(result)))
})

/** For commands that cannot run in one transaction. */
export const recordFirst = Effect.fnUntraced(function* (command: Command) {
  const by = yield* CurrentOperator
  const audit = yield* Audit
  yield* audit.append(toRecord(by, command))
})
