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

/** Why a call did not give what was asked for. */
export type ToolFailure =
  | InvalidRequest
  | UnsupportedGeo
  | UnsupportedParameter
  | QuotaExceeded
  | UpstreamError
  | UpstreamTimeout

/** An answer in both forms: whole for programs, compact for models that read text. */
export interface ToolAnswer {
  readonly structured: Readonly<Record<string, unknown>>
  readonly text: string
}

export interface Tool {
  readonly name: string
  readonly title: string
  /** Tells a model when to call the tool and what comes back. */
  readonly description: string
  /** What the arguments are; `call` judges them. */
  readonly input: Schema.Constraint
  readonly output: Schema.Constraint
  /** Whether the answer comes from the open web, whose text is nobody's to vouch for. */
  readonly openWorld: boolean
  readonly call: (caller: AccountPrincipal, args: RawFields) => Effect.Effect<ToolAnswer, ToolFailure>
}

/** The attribution label of searches that name none (R11): the route decides it, whatever the credential. */
export const defaultSource = "mcp"
