import { Effect } from "effect"
import { Audit, type AuditRecord } from "../services/Audit.ts"
import { operator } from "./operator.ts"

/** The arguments of a command as the audit keeps them. Those that were not given are left out. */
type Arguments = Readonly<Record<string, AuditRecord["arguments"][string] | undefined>>

export interface Command extends Pick<AuditRecord, "command" | "subject"> {
  /** Without secrets, addresses and names of keys: the audit outlives what it is about. */
  readonly arguments?: Arguments
}

const withoutUndefined = (all: Arguments): AuditRecord["arguments"] =>
  Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

const toRecord = (by: string, { arguments: all = {}, ...command }: Command): AuditRecord => ({
  ...command,
  operator: by,
  arguments: withoutUndefined(all)
})

/** Makes a change and records the command, in one transaction. `Audit.recorded` says what such a change may do. */
export const audited = Effect.fnUntraced(function* <A, E, R>(
  change: Effect.Effect<A, E, R>,
  commandOf: (result: A) => Command
) {
  const by = yield* operator
  const audit = yield* Audit
  return yield* audit.recorded(change, (result) => toRecord(by, commandOf(result)))
})

/** Records a command that cannot run in one transaction, before it runs. */
export const recordFirst = Effect.fnUntraced(function* (command: Command) {
  const by = yield* operator
  const audit = yield* Audit
  yield* audit.append(toRecord(by, command))
})
