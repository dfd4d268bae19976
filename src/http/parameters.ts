import { Schema } from "effect"

/**
 * A query-string value as it arrives: a list when the parameter is repeated. What it must be is said once, in `domain/`,
 * where every failure is told together (R6); the document gets the rules from `openapi.ts`.
 */
export const Parameter = Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)]))
