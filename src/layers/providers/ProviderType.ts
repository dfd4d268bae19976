import { Data, Effect, Schema, SchemaIssue } from "effect"
import type { Provider } from "../../services/Provider.ts"

/** What is wrong with an entry of the provider file, and where in it: a dotted path. */
export class EntryInvalid extends Data.TaggedError("EntryInvalid")<{
  readonly path: string
  readonly problem: string
}> {}

/** A configured provider: gives the one for an engine that a target names, or for none. */
export type Engines = (engine: string | undefined) => Provider

/** One type of provider that the provider file can name. */
export interface ProviderType<R> {
  /** Whether a target may name an engine of it. */
  readonly hasEngines: boolean
  /** `options` are the entry without its `type`. */
  readonly make: (name: string, options: unknown) => Effect.Effect<Engines, EntryInvalid, R>
}

/** Says what is expected and never what was found, which may be a secret. */
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "MissingKey") return "is missing"
    if (issue._tag === "UnexpectedKey") return "is not allowed here"
    const message = "ast" in issue ? issue.ast.annotations?.message : undefined
    return typeof message === "string" ? message : "is not valid"
  }
})

/** Decodes a part of the provider file that stands at `path`; every message of the schema continues "it …". */
export const decode =
  <A>(schema: Schema.ConstraintDecoder<A>) =>
  (path: string, input: unknown): Effect.Effect<A, EntryInvalid> =>
    Schema.decodeUnknownEffect(schema)(input, { onExcessProperty: "error" }).pipe(
      Effect.mapError((error) => {
        const issue = issuesOf(error.issue).issues[0]
        const keys = issue?.path?.map((key) => String(typeof key === "object" ? key.key : key)) ?? []
        return new EntryInvalid({
          path: [path, ...keys].filter((part) => part !== "").join("."),
          problem: issue?.message ?? "is not valid"
        })
      })
    )

export const define = <A, R>(type: {
  readonly options: Schema.ConstraintDecoder<A>
  readonly hasEngines: boolean
  readonly make: (name: string, options: A) => Effect.Effect<Engines, never, R>
}): ProviderType<R> => {
  const decodeOptions = decode(type.options)
  return {
    hasEngines: type.hasEngines,
    make: (name, options) =>
      Effect.flatMap(decodeOptions(`providers.${name}`, options), (options) => type.make(name, options))
  }
}

const isWebAddress = (text: string): boolean => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  return url !== null && url.username === "" && url.password === "" && url.search === "" && url.hash === ""
}

/** Address of an upstream. Credentials have no place in it: addresses appear in logs and spans. */
export const WebAddress = Schema.String.annotate({ message: "must be a string" }).check(
  Schema.makeFilter(
    (text) => isWebAddress(text) || "must be an http(s) address without user, password, query and fragment"
  )
)

/** Headers sent with every request; their values are secrets. */
export const SecretHeaders = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/)),
  Schema.RedactedFromValue(
    Schema.String.annotate({ message: "must be a string" }).check(
      Schema.isPattern(/^[ -~]*$/, { message: "must hold printable ASCII characters only" })
    )
  )
).annotate({ message: "must be an object of header names and values" })
