import { Config, Effect, FileSystem, Layer, Option, Record, Redacted, Schema } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import { type Target, targets } from "../../domain/Target.ts"
import type { DocumentIndex } from "../../services/DocumentIndex.ts"
import type { Pacer } from "../../services/Pacer.ts"
import type { Provider } from "../../services/Provider.ts"
import type { ProviderStates } from "../../services/ProviderStates.ts"
import { Providers, type ProviderTable } from "../../services/Providers.ts"
import * as Brave from "./Brave.ts"
import * as Exa from "./Exa.ts"
import * as Index from "./Index.ts"
import * as Kagi from "./Kagi.ts"
import * as Marginalia from "./Marginalia.ts"
import * as Mojeek from "./Mojeek.ts"
import * as OpenSerp from "./OpenSerp.ts"
import { decode, type EngineNames, type Engines, EntryInvalid, type ProviderType } from "./ProviderType.ts"
import * as SearXNG from "./SearXNG.ts"
import * as SerpApi from "./SerpApi.ts"
import * as Serper from "./Serper.ts"
import * as Tavily from "./Tavily.ts"
import type { UpstreamClient } from "./UpstreamClient.ts"

/** The services that providers need. */
type Requirements = UpstreamClient | DocumentIndex | Pacer

/** Every type of provider, by its name in the file. A new one is a file beside these and a line here. */
const types: Readonly<Record<string, ProviderType<Requirements>>> = {
  searxng: SearXNG.type,
  brave: Brave.type,
  serper: Serper.type,
  serpapi: SerpApi.type,
  mojeek: Mojeek.type,
  marginalia: Marginalia.type,
  openserp: OpenSerp.type,
  kagi: Kagi.type,
  tavily: Tavily.type,
  exa: Exa.type,
  index: Index.type
}

/** The providers are not set up right. The message is one line that names the place and never a secret's value. */
export class ProviderFileInvalid extends OperatorError("ProviderFileInvalid") {}

/** The place in which the operator says which providers serve which targets. */
export type ProviderSource =
  | { readonly _tag: "file"; readonly path: string }
  /** One SearXNG for all targets, each with its engine. */
  | { readonly _tag: "searxng"; readonly url: Redacted.Redacted; readonly engines: { readonly [T in Target]: string } }
  /** The built-in index for all targets. */
  | { readonly _tag: "index" }

const anObject = { message: "must be an object" }
const text = Schema.String.annotate({ message: "must be a string" })

const Attempt = Schema.Struct({
  provider: text,
  // Two names at once would make SearXNG mix the rows of two engines.
  engine: Schema.optionalKey(
    text.check(Schema.isPattern(/^[^\s,][^,]*$/, { message: "must be the name of one engine" }))
  )
}).annotate(anObject)

const Attempts = Schema.Array(Attempt).annotate({ message: "must be a list of providers" })

const AttemptsWith = Schema.Struct({
  providers: Attempts,
  /** True when the next provider is asked too once one takes longer than its p95. */
  hedge: Schema.optionalKey(Schema.Boolean.annotate({ message: "must be true or false" }))
}).annotate({ message: "must be a list of providers, or an object with providers and hedge" })

const File = Schema.Struct({
  providers: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown).annotate(anObject)).annotate(
    anObject
  ),
  targets: Schema.Record(Schema.String, Schema.Unknown).annotate(anObject)
}).annotate({ message: "must be an object with providers and targets" })
type File = typeof File.Type

const decodeFile = decode(File)
const decodeAttempts = decode(Attempts)
const decodeAttemptsWith = decode(AttemptsWith)

/** The two forms of a target: its list alone, or with options beside it. */
const readTarget = (path: string, value: unknown) =>
  Array.isArray(value)
    ? Effect.map(decodeAttempts(path, value), (attempts) => ({ path, attempts, hedge: false }))
    : Effect.map(decodeAttemptsWith(path, value), ({ hedge = false, providers }) => ({
        path: `${path}.providers`,
        attempts: providers,
        hedge
      }))

const listed = (names: Iterable<string>): string => [...names].join(", ") || "none"

const invalid = (path: string, problem: string) => Effect.fail(new EntryInvalid({ path, problem }))

const variable = /\$\{([^}]*)\}/g

/** Text with every `${NAME}` replaced by the environment's value, which is not empty. */
const interpolate = Effect.fnUntraced(function* (path: string, text: string) {
  const values = new Map<string, string>()
  for (const [, name = ""] of text.matchAll(variable)) {
    const value = yield* Config.option(Config.String(name)).pipe(Effect.orElseSucceed(() => Option.none<string>()))
    if (Option.isNone(value) || value.value === "") {
      return yield* invalid(path, `names the environment variable ${name}, which is not set`)
    }
    values.set(name, value.value)
  }
  return text.replace(variable, (_, name: string) => values.get(name) ?? "")
})

/** `interpolate` for all text within a JSON value. */
const interpolateAll = (path: string, value: unknown): Effect.Effect<unknown, EntryInvalid> => {
  if (typeof value === "string") return interpolate(path, value)
  if (typeof value !== "object" || value === null) return Effect.succeed(value)
  if (Array.isArray(value)) {
    return Effect.forEach(value, (item, index) => interpolateAll(`${path}.${index}`, item))
  }
  // A JSON value that is neither text, nor a list, nor null is an object when it is one at all.
  return Effect.all(Record.map(value as Record<string, unknown>, (item, key) => interpolateAll(`${path}.${key}`, item)))
}

/** Makes one provider for all targets that name the same engine, so that its state is shared. */
const shared = (engines: Engines): Engines => {
  const made = new Map<string | undefined, Provider>()
  return (engine) => {
    const provider = made.get(engine) ?? engines(engine)
    made.set(engine, provider)
    return provider
  }
}

const makeProvider = Effect.fnUntraced(function* (name: string, entry: Readonly<Record<string, unknown>>) {
  const { type: typeName, ...options } = entry
  const type = typeof typeName === "string" && Object.hasOwn(types, typeName) ? types[typeName] : undefined
  if (type === undefined) {
    return yield* invalid(`providers.${name}.type`, `must be one of ${listed(Object.keys(types))}`)
  }
  const engines = yield* type.make(name, yield* interpolateAll(`providers.${name}`, options))
  return { engines: shared(engines), engineNames: type.engines }
})

/** The table that the file describes. */
const fromFile = Effect.fnUntraced(function* ({ providers, targets: lists }: File) {
  for (const name of Object.keys(lists)) {
    if (!targets.some((target) => target === name)) {
      return yield* invalid(`targets.${name}`, `is not a target; there are ${listed(targets)}`)
    }
  }
  const made = new Map<string, { readonly engines: Engines; readonly engineNames: EngineNames }>()
  for (const [name, entry] of Object.entries(providers)) {
    if (name.includes("/"))
      return yield* invalid(`providers.${name}`, "has a slash in its name, which sets off engines")
    made.set(name, yield* makeProvider(name, entry))
  }

  const attempt = (path: string, { engine, provider }: typeof Attempt.Type): Effect.Effect<Provider, EntryInvalid> => {
    const found = made.get(provider)
    if (found === undefined) {
      return invalid(path, `names the provider ${provider}, which is not there; there are ${listed(made.keys())}`)
    }
    if (engine !== undefined && found.engineNames === "none") {
      return invalid(path, `names an engine of the provider ${provider}, which has none to choose from`)
    }
    if (engine !== undefined && found.engineNames !== "any" && !found.engineNames.includes(engine)) {
      return invalid(
        path,
        `names the engine ${engine}, which ${provider} has not; there are ${listed(found.engineNames)}`
      )
    }
    return Effect.succeed(found.engines(engine))
  }
  const hedged = new Set<Target>()
  const table = yield* tableOf(
    Effect.fnUntraced(function* (target) {
      const { attempts, hedge, path } = yield* readTarget(`targets.${target}`, lists[target] ?? [])
      if (hedge) hedged.add(target)
      return yield* Effect.forEach(attempts, (entry, index) => attempt(`${path}.${index}`, entry))
    })
  )
  return { ...table, hedged }
})

const tableOf = <E>(
  list: (target: Target) => Effect.Effect<ReadonlyArray<Provider>, E>
): Effect.Effect<ProviderTable, E> =>
  Effect.all({
    alpha_search: list("alpha_search"),
    beta_search: list("beta_search"),
    gamma_search: list("gamma_search"),
    delta_search: list("delta_search"),
    epsilon_search: list("epsilon_search"),
    zeta_search: list("zeta_search")
  })

const fromShortForm = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  engines: { readonly [T in Target]: string }
) {
  const instance = yield* SearXNG.type
    // The short form cannot say that plain HTTP is meant, and no credential is sent.
    .make("searxng", { url: Redacted.value(url), insecure: true })
    .pipe(Effect.mapError(({ problem }) => new EntryInvalid({ path: "SEARXNG_URL", problem })))
  const provider = shared(instance)
  return yield* tableOf((target) => Effect.succeed([provider(engines[target])]))
})

const fromIndex = Effect.flatMap(Index.type.make("index", {}), (index) => {
  const provider = shared(index)
  return tableOf(() => Effect.succeed([provider(undefined)]))
})

/** The position at which `JSON.parse` failed. The rest of its message quotes the text, which may hold secrets. */
const jsonPosition = (error: unknown): string =>
  error instanceof Error ? (/at position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)?.[0] ?? "") : ""

/** The providers of each target. */
export const table = (
  source: ProviderSource
): Effect.Effect<ProviderTable, ProviderFileInvalid, FileSystem.FileSystem | Requirements> => {
  const inPlace = (...place: ReadonlyArray<string>) =>
    Effect.mapError(
      ({ path, problem }: EntryInvalid) =>
        new ProviderFileInvalid({ message: [...place, `${path} ${problem}`.trim()].join(": ") })
    )
  switch (source._tag) {
    case "index":
      return fromIndex.pipe(inPlace())
    case "searxng":
      return fromShortForm(source.url, source.engines).pipe(inPlace())
    case "file":
      return Effect.gen(function* () {
        const files = yield* FileSystem.FileSystem
        const text = yield* files
          .readFileString(source.path)
          .pipe(Effect.catch((error) => invalid("", `cannot be read (${error.reason._tag})`)))
        const json = yield* Effect.try({
          try: (): unknown => JSON.parse(text),
          catch: (error) => new EntryInvalid({ path: "", problem: `is not JSON ${jsonPosition(error)}`.trim() })
        })
        return yield* fromFile(yield* decodeFile("", json))
      }).pipe(inPlace(`QUARRY_PROVIDERS (${source.path})`))
  }
}

/** The search service over the providers the operator chose. */
export const layer = (
  source: ProviderSource
): Layer.Layer<Providers, ProviderFileInvalid, FileSystem.FileSystem | ProviderStates | Requirements> =>
  Layer.unwrap(Effect.map(table(source), Providers.layer))
