import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import type { NotFound } from "../domain/errors.ts"
import type { PageCompatError } from "./CompatError.ts"
import type { PageForm, PagesForm } from "./PageForm.ts"
import type { SearchForm } from "./SearchForm.ts"

export interface ErrorAnswer {
  readonly status: number
  readonly body: unknown
}

type Group = HttpApiGroup.Constraint & {
  readonly endpoints: Readonly<Record<string, Pick<HttpApiEndpoint.Top, "method" | "path">>>
}

/** The endpoints of a group, and what each of their requests means: a search, a page, or several pages. */
export type CompatRoute = { readonly group: Group } & (
  | { readonly search: SearchForm }
  | { readonly page: PageForm }
  | { readonly pages: PagesForm<PageCompatError> }
)

/** A service whose API is served below `/compat/<name>`, as a value of data and pure functions. */
export interface CompatService {
  readonly name: CompatShape
  readonly routes: ReadonlyArray<CompatRoute>
  /** Absent if the service's clients do not parse errors. They get the API's envelope. */
  readonly toError?: (error: PageCompatError | NotFound) => ErrorAnswer
  /** By the identifier of the operation, for the document. */
  readonly examples: Readonly<Record<string, { readonly request?: unknown; readonly response: unknown }>>
}
