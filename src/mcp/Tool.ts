import { Effect, type Schema } from "effect"
import type {
  InvalidRequest,
  QuotaExceeded,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../domain/errors.ts"
import { decoder, type RawFields } from "../domain/fields.ts"
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
  /** The arguments as clients are to send them. */
  readonly input: Schema.Constraint
  readonly output: Schema.Constraint
  /** Marks answers with text of the open web, which clients must not trust. */
  readonly openWorld: boolean
  readonly call: (principal: AccountPrincipal, args: RawFields) => Effect.Effect<ToolAnswer, ToolFailure>
}

interface ToolOptions<Arguments> extends Omit<Tool, "call"> {
  /** The arguments as `call` takes them: those of `input`, or a wider schema where parts of them may fail alone. */
  readonly arguments: Schema.ConstraintDecoder<Arguments>
  readonly call: (caller: AccountPrincipal, args: Arguments) => Effect.Effect<ToolAnswer, ToolFailure>
}

/** A tool whose arguments are decoded by its schema, with every failure reported together (R6). */
export const makeTool = <Arguments>({ arguments: schema, call, ...tool }: ToolOptions<Arguments>): Tool => {
  const decode = decoder(schema)
  return {
    ...tool,
    call: (caller, args) => Effect.flatMap(Effect.fromResult(decode(args)), (decoded) => call(caller, decoded))
  }
}

/** The attribution label of searches without one (R11). It is that of the route, for every kind of credential. */
export const defaultSource = "mcp"
