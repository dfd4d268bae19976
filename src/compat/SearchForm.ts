import type { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import type { InvalidRequest, RateLimited } from "../domain/errors.ts"
import type { OptionFields } from "../domain/options/SearchOptions.ts"
import type { PageFormat } from "../domain/pages/PageRequest.ts"
import type { RawFields } from "../domain/requests/fields.ts"
import type { OrganicResult } from "../domain/search/OrganicResult.ts"
import type { Safe, Target } from "../domain/search/Target.ts"
import { readJson } from "../http/requests/body.ts"
import type { Sender } from "../http/requests/Intake.ts"

export type Engines = Readonly<Record<string, Target>>

export interface CompatRequest {
  /** Not limited in length, because programs send whole conversations. Each query of a list is a search of its own. */
  readonly query: string | ReadonlyArray<string>
  readonly target?: Target | undefined
  readonly geo?: string | undefined
  readonly locale?: string | undefined
  readonly page?: number | undefined
  readonly num?: number | undefined
  /** Ignored if the target has no safe search. */
  readonly safe?: Safe | undefined
  readonly options?: OptionFields | undefined
  readonly pages?:
    | { readonly format: PageFormat; readonly urlsOf: (results: CompatResults) => ReadonlyArray<string> }
    | undefined
  readonly answer: (results: CompatResults) => unknown
}

export interface CompatResults {
  readonly id: string
  readonly requestId: string
  readonly query: string
  readonly results: ReadonlyArray<OrganicResult>
  readonly durationMs: number
  /** A page that could not be read is absent. */
  readonly texts?: ReadonlyMap<string, string>
}

/** Reads a service's requests. All fields outside `fields` are accepted, ignored and listed in `X-Quarry-Ignored`. */
export interface RequestForm {
  readonly name: CompatShape
  /** With `api_key`, the key may be in the body if no header has one. */
  readonly fields: ReadonlyArray<string>
  readonly read: (
    request: HttpServerRequest.HttpServerRequest,
    sender: Sender
  ) => Effect.Effect<unknown, InvalidRequest | RateLimited>
}

/** A form whose fields are in a JSON body. */
export const jsonForm = (name: CompatShape, { fields }: { readonly fields: object }): RequestForm => ({
  name,
  fields: Object.keys(fields),
  read: readJson
})

export interface SearchForm extends RequestForm {
  readonly decode: (fields: RawFields, engines: Engines) => Result.Result<CompatRequest, InvalidRequest>
}
