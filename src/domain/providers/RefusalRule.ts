import { type JsonPath, valueAt } from "./JsonPath.ts"
import type { RefusalReason } from "./Refusal.ts"

/** `nothing` is not a refusal: some providers report a search without results as an error. */
export type RuledReason = RefusalReason | "nothing"

/** The meaning of a status, optionally only with a text at a place of the response. */
export interface RefusalRule {
  readonly status: number
  readonly at: JsonPath | undefined
  readonly is: string | undefined
  readonly reason: RuledReason
}

const matches = ({ at, is }: RefusalRule, json: unknown): boolean => {
  if (at === undefined) return true
  const value = valueAt(json, at)
  return (typeof value === "string" || typeof value === "number" || typeof value === "boolean") && String(value) === is
}

/** The reason of the first rule that matches. `json` is undefined for a response that is not JSON. */
export const refusalFor = (rules: ReadonlyArray<RefusalRule>, status: number, json: unknown): RuledReason | undefined =>
  rules.find((rule) => rule.status === status && matches(rule, json))?.reason
