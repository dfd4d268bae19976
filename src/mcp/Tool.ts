import type { Effect, Schema } from "effect"
import type {
  InvalidRequest,
  QuotaExceeded,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../domain/errors.ts"
import type { RawFields } from "../domain/fields.ts"
import type { AccountPrincipal } from "../domain/Principal.ts"

/** The errors of a tool's call. */
export type ToolFailure =
  | InvalidRequest
  | UnsupportedGeo
  | UnsupportedParameter
  | QuotaExceeded
  | UpstreamError
  | UpstreamTimeout

/** An answer in two forms: complete for programs, and as short text for models. */
export interface ToolAnswer {
  readonly structured: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface Tool {
  readonly name: string
  readonly title: string
  /** Text by which a model decides when to call the tool. */
  readonly description: string
  /** Schema of the arguments, for the tool's definition. `call` validates them itself. */
  readonly input: Schema.Constraint
  readonly output: Schema.Constraint
  /** Marks answers with text of the open web, which clients must not trust. */
  readonly openWorld: boolean
  readonly call: (principal: AccountPrincipal, args: RawFields) => Effect.Effect<ToolAnswer, ToolFailure>
}

/** The attribution label of searches without one (R11). It is that of the route, for every kind of credential. */
export const defaultSource = "mcp"
