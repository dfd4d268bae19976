import { Array as Arr, Duration, Effect, type FileSystem, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import { type Target, targets } from "../../domain/search/Target.ts"
import type { TargetLabel } from "../../domain/search/TargetLabels.ts"
import type { DocumentIndex } from "../../services/index/DocumentIndex.ts"
import { direct, type RemoteReader } from "../../services/pages/PageReaders.ts"
import type { Limits } from "../../services/providers/Limits.ts"
import type { Pacer } from "../../services/providers/Pacer.ts"
import type { Fusion, Provider, ProviderEntry } from "../../services/providers/Provider.ts"
import type { ProviderStates } from "../../services/providers/ProviderStates.ts"
import { Providers, type ProviderTable } from "../../services/providers/Providers.ts"
import type { Reranker } from "../../services/providers/Reranker.ts"
import type { AddressRules } from "../outgoing/Addresses.ts"
import * as Brave from "./adapters/Brave.ts"
import * as Index from "./adapters/Index.ts"
import * as Mojeek from "./adapters/Mojeek.ts"
import * as OpenSearch from "./adapters/OpenSearch.ts"
import * as OpenSerp from "./adapters/OpenSerp.ts"
import * as SearXNG from "./adapters/SearXNG.ts"
import * as SerpApi from "./adapters/SerpApi.ts"
import * as Serper from "./adapters/Serper.ts"
import * as BuiltIn from "./described/builtIn.ts"
import * as HttpProvider from "./described/HttpProvider.ts"
import { readJsonFile } from "./JsonFile.ts"
import { Options as OpenSearchOptions } from "./opensearch/options.ts"
import {
  decode,
  type EngineNames,
  type Engines,
  EntryInvalid,
  every,
  failWithAll,
  type ProviderType
} from "./ProviderType.ts"
import { readerTypeOf, readerTypes } from "./readers/readers.ts"
import * as Rerank from "./rerank/Rerank.ts"
import type { UpstreamClient } from "./UpstreamClient.ts"
import { interpolateAll } from "./Variables.ts"

type Requirements = UpstreamClient | DocumentIndex | Pacer

/** To add a type, add a file next to these and a line here. */
const types: Readonly<Record<string, ProviderType<Requirements>>> = {
  searxng: SearXNG.type,
  brave: Brave.type,
  serper: Serper.type,
  serpapi: SerpApi.type,
  mojeek: Mojeek.type,
  marginalia: BuiltIn.type("marginalia"),
  openserp: OpenSerp.type,
  kagi: BuiltIn.type("kagi"),
  tavily: BuiltIn.type("tavily"),
  exa: BuiltIn.type("exa"),
  opensearch: OpenSearch.type,
  http: HttpProvider.type,
  index: Index.type
}

/** One line per fault, with its place and never a secret's value. */
export class ProviderFileInvalid extends OperatorError("ProviderFileInvalid") {}

export type ProviderSource =
  | { readonly _tag: "file"; readonly path: string }
  | { readonly _tag: "searxng"; readonly url: Redacted.Redacted; readonly engines: { readonly [T in Target]: string } }
  | { readonly _tag: "index" }

const anObject = { message: "must be an object" }
const text = Schema.String.annotate({ message: "must be a string" })

const Attempt = Schema.Struct({
  provider: text,
  // With two names in one string, SearXNG would mix the rows of two engines.
  engine: Schema.optionalKey(
    text.check(Schema.isPattern(/^[^\s,][^,]*$/, { message: "must be the name of one engine" }))
  )
}).annotate(anObject)

const maxFused = 6
const maxWaitMs = 10_000
const needMessage = { message: "must be a whole number from 1 to the number of providers" }
const waitMessage = { message: `must be a duration up to ${maxWaitMs} ms, as in "1500 millis"` }

const Wait = Schema.Union([Schema.String, Schema.Number]).annotate(waitMessage)

/** Asks these providers at once and merges their results (R63). */
const Fuse = Schema.Struct({
  fuse: Schema.Array(Attempt)
    .annotate({ message: `must be a list of 2 to ${maxFused} providers` })
    .check(Schema.isBetweenLength(2, maxFused, { message: `must be a list of 2 to ${maxFused} providers` })),
  need: Schema.optionalKey(
    Schema.Number.annotate(needMessage).check(Schema.isInt(needMessage), Schema.isGreaterThanOrEqualTo(1, needMessage))
  ),
  wait: Schema.optionalKey(Wait)
}).annotate(anObject)

/** Decoded one by one, so that each fault has its own place. */
const Entries = Schema.Array(Schema.Unknown).annotate({ message: "must be a list of providers" })

const labelText = (maximum: number) => {
  const message = `must be text of 1 to ${maximum} characters in one line`
  return Schema.optionalKey(
    Schema.String.annotate({ message }).check(
      Schema.isPattern(/^[^\p{Cc}]+$/u, { message }),
      Schema.isBetweenLength(1, maximum, { message })
    )
  )
}

const EntriesWith = Schema.Struct({
  providers: Entries,
  name: labelText(60),
  about: labelText(200),
  /** Decoded by `Rerank`, which knows its place. */
  rerank: Schema.optionalKey(Schema.Unknown),
  /** Also asks the next provider if one takes longer than its p95. */
  hedge: Schema.optionalKey(Schema.Boolean.annotate({ message: "must be true or false" }))
}).annotate({ message: "must be a list of providers, or an object with providers" })

const File = Schema.Struct({
  providers: Schema.Record(Schema.String, Schema.Unknown).annotate(anObject),
  targets: Schema.Record(Schema.String, Schema.Unknown).annotate(anObject),
  pages: Schema.optionalKey(
    Schema.Array(Schema.Struct({ provider: text }).annotate(anObject))
      .annotate({ message: "must be a list of providers" })
      .check(Schema.isMinLength(1, { message: "must name at least one provider" }))
  )
}).annotate({ message: "must be an object with providers and targets" })
type File = typeof File.Type

const decodeFile = decode(File)

const onlyReads = (entry: unknown): boolean => {
  const name = Predicate.hasProperty(entry, "type") ? entry.type : undefined
  return readerTypeOf(name) !== undefined && !(typeof name === "string" && Object.hasOwn(types, name))
}
const decodeEntry = decode(Schema.Record(Schema.String, Schema.Unknown).annotate(anObject))
const decodeAttempt = decode(Attempt)
const decodeFuse = decode(Fuse)
const decodeEntries = decode(Entries)
const decodeEntriesWith = decode(EntriesWith)
const decodeOpenSearch = decode(OpenSearchOptions)

const isFuse = (value: unknown): boolean => typeof value === "object" && value !== null && "fuse" in value

const readTarget = Effect.fnUntraced(function* (path: string, value: unknown) {
  const alone = { path, hedge: false, label: undefined, rerank: undefined }
  if (Array.isArray(value)) return { ...alone, entries: yield* decodeEntries(path, value) }
  if (isFuse(value)) return { ...alone, entries: [value], isAlone: true }
  const { about, hedge = false, name, providers, rerank } = yield* decodeEntriesWith(path, value)
  const named = { ...(name === undefined ? {} : { name }), ...(about === undefined ? {} : { about }) }
  const label: TargetLabel | undefined = Object.keys(named).length === 0 ? undefined : named
  return { path: `${path}.providers`, entries: providers, hedge, label, rerank }
})

const listed = (names: Iterable<string>): string => [...names].join(", ") || "none"

const invalid = (path: string, problem: string) => Effect.fail(new EntryInvalid({ faults: [{ path, problem }] }))

/** Targets that name the same engine share one provider and therefore its state. */
const shared = (engines: Engines): Engines => {
  const made = new Map<string | undefined, Provider>()
  return (engine) => {
    const provider = made.get(engine) ?? engines(engine)
    made.set(engine, provider)
    return provider
  }
}

const makeProvider = Effect.fnUntraced(function* (name: string, entry: unknown) {
  if (name.includes("/"))
    return yield* invalid(`providers.${name}`, "has a slash in its name; a slash separates the engine")
  const { type: typeName, ...options } = yield* decodeEntry(`providers.${name}`, entry)
  const type = typeof typeName === "string" && Object.hasOwn(types, typeName) ? types[typeName] : undefined
  if (type === undefined) {
    const names = new Set([...Object.keys(types), ...Object.keys(readerTypes)])
    return yield* invalid(`providers.${name}.type`, `must be one of ${listed(names)}`)
  }
  const whole = type.readsVariables === true ? options : yield* interpolateAll(`providers.${name}`, options)
  const engines = yield* type.make(name, whole)
  return [name, { engines: shared(engines), engineNames: type.engines }] as const
})

interface Made {
  readonly engines: Engines
  readonly engineNames: EngineNames
}

/** An invalid provider is reported once, at its own definition. */
const attemptOf =
  (made: ReadonlyMap<string, Made>, names: ReadonlyArray<string>) =>
  (path: string, { engine, provider }: typeof Attempt.Type): Effect.Effect<ReadonlyArray<Provider>, EntryInvalid> => {
    const found = made.get(provider)
    if (found === undefined) {
      return names.includes(provider)
        ? Effect.succeed([])
        : invalid(path, `names the provider ${provider}, which is not defined; defined: ${listed(names)}`)
    }
    if (engine !== undefined && found.engineNames === "none") {
      return invalid(path, `names an engine, but the provider ${provider} has none to choose from`)
    }
    if (engine !== undefined && found.engineNames !== "any" && !found.engineNames.includes(engine)) {
      return invalid(
        path,
        `names the engine ${engine}, which ${provider} does not have; it has ${listed(found.engineNames)}`
      )
    }
    return Effect.succeed([found.engines(engine)])
  }

const toInvalid = ({ faults }: EntryInvalid, place: ReadonlyArray<string>): ProviderFileInvalid =>
  new ProviderFileInvalid({
    // A value may break two rules with the same message.
    message: [...new Set(faults.map(({ path, problem }) => [...place, `${path} ${problem}`.trim()].join(": ")))].join(
      "\n"
    )
  })

const inPlace = (...place: ReadonlyArray<string>) => Effect.mapError((error: EntryInvalid) => toInvalid(error, place))

const placeOf = (path: string): string => `QUARRY_PROVIDERS (${path})`

/** The members of a provider of this type, without its `type`. */
const entryOfType = Effect.fnUntraced(function* (path: string, name: string, type: string, purpose: string) {
  const { providers } = yield* decodeFile("", yield* readJsonFile(path))
  const place = `providers.${name}`
  const entry = Object.hasOwn(providers, name) ? providers[name] : undefined
  const names = Object.keys(providers)
  if (entry === undefined) return yield* invalid(place, `is not defined; defined: ${listed(names)}`)
  const { type: found, ...options } = yield* decodeEntry(place, entry)
  return found === type ? options : yield* invalid(`${place}.type`, `must be ${type} ${purpose}`)
})

export const openSearchOptions = (path: string, name: string) =>
  Effect.gen(function* () {
    const options = yield* entryOfType(path, name, "opensearch", "to take documents")
    const place = `providers.${name}`
    return yield* decodeOpenSearch(place, yield* interpolateAll(place, options))
  }).pipe(inPlace(placeOf(path)))

/** A provider that the file describes. Reads no other provider, so that one can be tried before the rest is valid. */
export const described = (path: string, name: string) =>
  Effect.flatMap(entryOfType(path, name, "http", "to be tried"), (entry) => HttpProvider.read(name, entry)).pipe(
    inPlace(placeOf(path))
  )

type AttemptOf = ReturnType<typeof attemptOf>

const entryOf = (attempt: AttemptOf) =>
  Effect.fnUntraced(function* (path: string, value: unknown) {
    if (!isFuse(value)) return yield* attempt(path, yield* decodeAttempt(path, value))
    const { fuse, need = 1, wait = "1500 millis" } = yield* decodeFuse(path, value)
    if (need > fuse.length) return yield* invalid(`${path}.need`, needMessage.message)
    // The cast: `fromInput` returns none for text that is not a duration.
    const waitMs = Option.map(Duration.fromInput(wait as Duration.Input), Duration.toMillis)
    if (Option.isNone(waitMs) || waitMs.value < 0 || waitMs.value > maxWaitMs) {
      return yield* invalid(`${path}.wait`, waitMessage.message)
    }
    const members = yield* every(fuse.entries(), ([index, member]) => attempt(`${path}.fuse.${index}`, member))
    const fusion: Fusion = { fuse: members.flat(), need, waitMs: waitMs.value }
    return [fusion]
  })

const makeReranker = Effect.fnUntraced(function* (target: Target, entry: unknown) {
  const path = `targets.${target}.rerank`
  return yield* Rerank.make(path, `rerank ${target}`, yield* interpolateAll(path, entry))
})

const fromFile = Effect.fnUntraced(function* ({ providers, targets: lists }: File) {
  const ofSearch = Object.entries(providers).filter(([_, entry]) => !onlyReads(entry))
  const [made, invalidProviders] = yield* Effect.partition(ofSearch, ([name, entry]) => makeProvider(name, entry))
  const attempt = attemptOf(
    new Map(made),
    ofSearch.map(([name]) => name)
  )
  const entry = entryOf(attempt)
  const labels: { [T in Target]?: TargetLabel } = {}
  const hedged = new Set<Target>()
  const rerankers: { [T in Target]?: Reranker } = {}
  const [served, invalidTargets] = yield* Effect.partition(Object.entries(lists), ([name, list]) =>
    Effect.gen(function* () {
      const target = targets.find((known) => known === name)
      if (target === undefined) {
        return yield* invalid(`targets.${name}`, `is not a target; the targets are ${listed(targets)}`)
      }
      const { entries, hedge, label, path, rerank, ...form } = yield* readTarget(`targets.${target}`, list)
      if (hedge) hedged.add(target)
      if (label !== undefined) labels[target] = label
      if (rerank !== undefined) rerankers[target] = yield* makeReranker(target, rerank)
      const found = yield* every(
        entries.entries(),
        ([index, value]): Effect.Effect<ReadonlyArray<ProviderEntry>, EntryInvalid> =>
          entry("isAlone" in form ? path : `${path}.${index}`, value)
      )
      return [target, found.flat()] as const
    })
  )
  yield* failWithAll([...invalidProviders, ...invalidTargets])
  const byTarget = new Map(served)
  return { ...(yield* tableOf((target) => Effect.succeed(byTarget.get(target) ?? []))), hedged, labels, rerankers }
})

type Reader = typeof direct | RemoteReader

const readersFromFile = Effect.fnUntraced(function* ({ pages, providers }: File, rules: AddressRules) {
  if (pages === undefined) return [direct] satisfies ReadonlyArray<Reader>
  const names = [...new Set(pages.map(({ provider }) => provider))]
  return yield* every(names.entries(), ([index, name]): Effect.Effect<Reader, EntryInvalid, UpstreamClient | Pacer> => {
    const entry = Object.hasOwn(providers, name) ? providers[name] : undefined
    if (name === direct && entry === undefined) return Effect.succeed(direct)
    const path = `pages.${index}.provider`
    if (entry === undefined) {
      return invalid(
        path,
        `names ${name}, which is not defined; defined: ${listed([direct, ...Object.keys(providers)])}`
      )
    }
    return Effect.flatMap(decodeEntry(`providers.${name}`, entry), ({ type, ...options }) => {
      const reader = readerTypeOf(type)
      if (reader === undefined) {
        return invalid(
          path,
          `names ${name}, which cannot read pages; types that can: ${listed(Object.keys(readerTypes))}`
        )
      }
      return Effect.flatMap(interpolateAll(`providers.${name}`, options), (whole) => reader(name, whole, rules))
    })
  })
})

const tableOf = <E>(
  list: (target: Target) => Effect.Effect<ReadonlyArray<ProviderEntry>, E>
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
    // Plain HTTP is allowed, because the short form sends no credential.
    .make("searxng", { url: Redacted.value(url), insecure: true })
    .pipe(
      Effect.mapError(({ faults }) => {
        return new EntryInvalid({ faults: Arr.map(faults, ({ problem }) => ({ path: "SEARXNG_URL", problem })) })
      })
    )
  const provider = shared(instance)
  return yield* tableOf((target) => Effect.succeed([provider(engines[target])]))
})

const fromIndex = Effect.flatMap(Index.type.make("index", {}), (index) => {
  const provider = shared(index)
  return tableOf(() => Effect.succeed([provider(undefined)]))
})

export const table = (
  source: ProviderSource
): Effect.Effect<ProviderTable, ProviderFileInvalid, FileSystem.FileSystem | Requirements> => {
  switch (source._tag) {
    case "index":
      return fromIndex.pipe(inPlace())
    case "searxng":
      return fromShortForm(source.url, source.engines).pipe(inPlace())
    case "file":
      return Effect.gen(function* () {
        return yield* fromFile(yield* decodeFile("", yield* readJsonFile(source.path)))
      }).pipe(inPlace(placeOf(source.path)))
  }
}

export const layer = (
  source: ProviderSource
): Layer.Layer<Providers, ProviderFileInvalid, FileSystem.FileSystem | Limits | ProviderStates | Requirements> =>
  Layer.unwrap(Effect.map(table(source), Providers.layer))

export const readers = (path: string, rules: AddressRules) =>
  Effect.gen(function* () {
    return yield* readersFromFile(yield* decodeFile("", yield* readJsonFile(path)), rules)
  }).pipe(inPlace(placeOf(path)))
