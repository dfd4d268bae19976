import { Context } from "effect"
import { Command } from "effect/cli"

/**
 * What a command writes to the database: nothing, its entry in the audit, or more. Every command says it, because a test
 * runs those that write no more than the audit and looks for changes.
 */
export const Writes = Context.Reference<"nothing" | "audit" | "more" | undefined>("quarry/cli/Writes", {
  defaultValue: () => undefined
})

export const writesNothing = Command.annotate(Writes, "nothing")
export const writesAudit = Command.annotate(Writes, "audit")
export const writesMore = Command.annotate(Writes, "more")
