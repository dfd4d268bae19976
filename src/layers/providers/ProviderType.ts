import { Array as Arr, Data, Effect, Schema, SchemaIssue } from "effect"
import type { Provider } from "../../services/providers/Provider.ts"

export interface Fault {
  readonly path: string
  readonly problem: string
}

export class EntryInvalid extends Data.TaggedError("EntryInvalid")<{
  readonly faults: Arr.NonEmptyReadonlyArray<Fault>
}> {}

/** Fails with the faults of all entries at once, if there are any. */
export const failWithAll = (failed: ReadonlyArray<EntryInvalid>): Effect.Effect<void, EntryInvalid> => {
  const faults = failed.flatMap(({ faults }) => faults)
  return Arr.isArrayNonEmpty(faults) ? Effect.fail(new EntryInvalid({ faults })) : Effect.void
}

export const every = Effect.fnUntraced(function* <A, B, R>(
  items: Iterable<A>,
  f: (item: A) => Effect.Effect<B, EntryInvalid, R>
) {
  const [results, failed] = yield* Effect.partition(items, f)
  yield* failWithAll(failed)
  return results
})

export type Engines = (engine: string | undefined) => Provider

export type EngineNames = "any" | "none" | ReadonlyArray<string>

export interface ProviderType<R> {
  readonly engines: EngineNames
  /** True if it replaces environment variables itself, to keep their values apart from other text. */
  readonly readsVariables?: boolean
  /** `options` is the entry without its `type`. */
  readonly make: (name: string, options: unknown) => Effect.Effect<Engines, EntryInvalid, R>
}

/** Describes the expected value, never the actual value, which may be a secret. */
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "MissingKey") return "is missing"
    if (issue._tag === "UnexpectedKey") {
      const allowed = issue.ast.annotations?.messageUnexpectedKey
      return typeof allowed === "string" ? allowed : "is not allowed here"
    }
    const { annotations } = "ast" in issue ? issue.ast : issue
    const message = annotations?.message
    return typeof message === "string" ? message : "is not valid"
  }
})

export const decode =
  <A>(schema: Schema.ConstraintDecoder<A>) =>
  (path: string, input: unknown): Effect.Effect<A, EntryInvalid> =>
    Schema.decodeUnknownEffect(schema)(input, { onExcessProperty: "error", errors: "all" }).pipe(
      Effect.mapError((error) => {
        const faults = issuesOf(error.issue).issues.map((issue) => {
          const keys = issue.path?.map((key) => String(typeof key === "object" ? key.key : key)) ?? []
          return { path: [path, ...keys].filter((part) => part !== "").join("."), problem: issue.message }
        })
        return new EntryInvalid({ faults: Arr.isArrayNonEmpty(faults) ? faults : [{ path, problem: "is not valid" }] })
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

export const isWebAddress = (text: string): boolean => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  return url !== null && url.username === "" && url.password === "" && url.search === "" && url.hash === ""
}

/** Credentials are not allowed, because addresses appear in logs and spans. */
export const WebAddress = Schema.String.annotate({ message: "must be a string" }).check(
  Schema.makeFilter(
    (text) => isWebAddress(text) || "must be an http(s) address without a user, password, query or fragment"
  )
)

const isLoopback = (hostname: string): boolean =>
  /^(127(\.\d+){3}|\[::1\]|(.+\.)?localhost)$/.test(hostname.replace(/\.$/, ""))

/** True for HTTPS and for loopback. */
export const isPrivateAddress = (address: string): boolean => {
  const url = URL.parse(address)
  return url === null || url.protocol === "https:" || isLoopback(url.hostname)
}

/** `insecure` permits plain HTTP, which others on the network can read. */
export const address = {
  url: WebAddress,
  insecure: Schema.optionalKey(Schema.Boolean.annotate({ message: "must be true or false" }))
}

/** Requires HTTPS for anything but loopback, unless the operator sets `insecure`. */
export const requirePrivacy = Schema.makeFilter(
  ({ insecure, url }: { readonly url?: string; readonly insecure?: boolean }) =>
    url === undefined ||
    insecure === true ||
    isPrivateAddress(url) || { path: ["url"], issue: 'must begin with https unless "insecure" is true' }
)

export const SecretHeaders = Schema.Record(
  Schema.String.check(Schema.isPattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/)),
  Schema.RedactedFromValue(
    Schema.String.annotate({ message: "must be a string" }).check(
      Schema.isPattern(/^[ -~]*$/, { message: "must contain printable ASCII characters only" })
    )
  )
).annotate({ message: "must be an object of header names and values" })
