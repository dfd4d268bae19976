import { Effect, type Schema } from "effect"
import type { ToolScope } from "../domain/accounts/OAuth.ts"
import type { AccountPrincipal } from "../domain/accounts/Principal.ts"
import type {
  InvalidRequest,
  PageUnreadable,
  QuotaExceeded,
  RateLimited,
  Unauthorized,
  UnsupportedGeo,
  UnsupportedParameter,
  UpstreamError,
  UpstreamTimeout
} from "../domain/errors.ts"
import { decoder, type RawFields } from "../domain/requests/fields.ts"
import { readModelArguments } from "../domain/requests/modelArguments.ts"
import { jsonSchemaOf } from "../http/openapi/jsonSchema.ts"

export type ToolFailure =
  | InvalidRequest
  | UnsupportedGeo
  | UnsupportedParameter
  | QuotaExceeded
  | PageUnreadable
  | RateLimited
  | Unauthorized
  | UpstreamError
  | UpstreamTimeout

/** `structured` is the JSON of the complete answer, for programs; `text` is short, for models. */
export interface ToolAnswer {
  readonly structured: string
  readonly text: string
}

export type Progress = (done: number, total: number) => Effect.Effect<void>

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Schema.Constraint
  readonly output: Schema.Constraint
  readonly openWorld: boolean
  /** The permission that an app needs. Undefined if every app may call the tool. */
  readonly scope?: ToolScope
  /** Offered only if the endpoint's URL names it. */
  readonly onRequest?: boolean
  readonly reportsProgress?: boolean
  readonly call: (
    principal: AccountPrincipal,
    args: RawFields,
    progress?: Progress
  ) => Effect.Effect<ToolAnswer, ToolFailure>
}

interface ToolOptions<Arguments> extends Omit<Tool, "call" | "input"> {
  readonly arguments: Schema.ConstraintDecoder<Arguments>
  /** The schema that clients see, if parts may fail individually and `arguments` is wider. */
  readonly input?: Schema.Constraint
  readonly call: (
    caller: AccountPrincipal,
    args: Arguments,
    progress?: Progress
  ) => Effect.Effect<ToolAnswer, ToolFailure>
}

/** Reports all invalid arguments together (R6). */
export const makeTool = <Arguments>({
  arguments: schema,
  call,
  input = schema,
  ...tool
}: ToolOptions<Arguments>): Tool => {
  const decode = decoder(schema)
  const jsonSchema = jsonSchemaOf(input)
  return {
    input,
    ...tool,
    call: (caller, args, progress) =>
      Effect.flatMap(Effect.fromResult(decode(readModelArguments(args, jsonSchema))), (decoded) =>
        call(caller, decoded, progress)
      )
  }
}

export const defaultSource = "mcp"
