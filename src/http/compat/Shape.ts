import type { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { CompatShape } from "../../domain/CompatShape.ts"
import type { InvalidRequest, RateLimited } from "../../domain/errors.ts"
import type { RawFields } from "../../domain/fields.ts"
import type { OrganicResult } from "../../domain/OrganicResult.ts"
import type { Safe, Target } from "../../domain/Target.ts"
import type { Sender } from "../listener/Intake.ts"

/** The target for each name of an engine that clients send, in lower case. */
export type Engines = Readonly<Record<string, Target>>

/** A search as a client of another service asks for it. */
export interface CompatRequest {
  /** Of any length, because programs send whole conversations. */
  readonly query: string
  readonly target?: Target | undefined
  readonly geo?: string | undefined
  readonly locale?: string | undefined
  readonly page?: number | undefined
  /** Most results wanted. The target may serve fewer. */
  readonly num?: number | undefined
  /** Ignored where the target has no safe search. */
  readonly safe?: Safe | undefined
  /** Makes the body that the client reads. */
  readonly answer: (results: CompatResults) => unknown
}

/** The results of a search, of which the body is made that the client reads. */
export interface CompatResults {
  readonly id: string
  readonly requestId: string
  readonly query: string
  readonly results: ReadonlyArray<OrganicResult>
  readonly durationMs: number
}

/** The part in which the endpoints of one service differ from those of the others. `serve` has the rest. */
export interface Shape {
  readonly name: CompatShape
  /** The names of the fields that are read. Others are ignored. */
  readonly fields: ReadonlyArray<string>
  /** Reads the fields that the client sent. */
  readonly read: (
    request: HttpServerRequest.HttpServerRequest,
    sender: Sender
  ) => Effect.Effect<unknown, InvalidRequest | RateLimited>
  /** True where clients may send their key in the body, as `api_key`, if they send none in a header. */
  readonly takesKeyInBody: boolean
  readonly decode: (fields: RawFields, engines: Engines) => Result.Result<CompatRequest, InvalidRequest>
}
