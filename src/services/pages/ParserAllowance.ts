import { Context } from "effect"
import { ParserTime } from "../../domain/pages/ParserTime.ts"

/** Limits parser time that nobody pays for. The server sets it; commands of the operator have no limit. */
export const ParserAllowance = Context.Reference<ParserTime>("quarry/references/ParserAllowance", {
  defaultValue: () => new ParserTime(Number.POSITIVE_INFINITY)
})
