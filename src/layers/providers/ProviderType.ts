import { Data, Effect, Schema, SchemaIssue } from "effect"
import type { Provider } from "../../services/Provider.ts"

/** A fault in an entry of the provider file, and its dotted path. */
export class EntryInvalid extends Data.TaggedError("EntryInvalid")<{
  readonly path: string
  readonly problem: string
}> {}

/** A configured provider: gives the one for an engine that a target names, or for none. */
export type Engines = (engine: string | undefined) => Provider

/** The engines of an upstream. Only some upstreams list them. */
export type EngineNames = "any" | "none" | ReadonlyArray<string>

/** One type of provider that the provider file can name. */
export interface ProviderType<R> {
  /** The engines of it that a target may name. */
  readonly engines: EngineNames
  /** `options` are the entry without its `type`. */
  readonly make: (name: string, options: unknown) => Effect.Effect<Engines, EntryInvalid, R>
}

/** Says what is expected and never what was found, which may be a secret. */
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "MissingKey") return "is missing"
    if (issue._tag === "UnexpectedKey") return "is not allowed here"
    const { annotations } = "ast" in issue ? issue.ast : issue
    const message = annotations?.message
    return typeof message === "string" ? message : "is not valid"
  }
})

/** Decodes the part of the provider file at `path`. Every message of the schema continues "it …". */
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
  readonly engines: EngineNames
  readonly make: (name: string, options: A) => Effect.Effect<Engines, never, R>
}): ProviderType<R> => {
  const decodeOptions = decode(type.options)
  return {
    engines: type.engines,
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

const isLoopback = (hostname: string): boolean =>
  /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname.replace(/\.$/, ""))

/** The address of an upstream; `insecure` permits plain HTTP, which others on the way can read. */
export const address = {
  url: WebAddress,
  insecure: Schema.optionalKey(Schema.Boolean.annotate({ message: "must be true or false" }))
}

/** Refuses to send queries and credentials over a network in the clear unless the operator says so. */
export const requirePrivacy = Schema.makeFilter(
  ({ insecure, url }: { readonly url?: string; readonly insecure?: boolean }) => {
    const parsed = url === undefined ? null : URL.parse(url)
    return (
      parsed === null ||
      parsed.protocol === "https:" ||
      insecure === true ||
      isLoopback(parsed.hostname) || {
        path: ["url"],
        issue: 'must begin with https, or "insecure": true must stand beside it'
      }
    )
  }
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
