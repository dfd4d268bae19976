import { Context } from "effect"
import { Command } from "effect/cli"

/** Declares how much a command writes to the database. A test runs each command that must not write. */
export const Writes = Context.Reference<"nothing" | "audit" | "more" | undefined>("quarry/references/Writes", {
  defaultValue: () => undefined
})

export const writesNothing = Command.annotate(Writes, "nothing")
export const writesAudit = Command.annotate(Writes, "audit")
export const writesMore = Command.annotate(Writes, "more")
