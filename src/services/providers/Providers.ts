import { Clock, Context, Effect, Latch, Layer, Record } from "effect"
import { UnsupportedParameter, UpstreamError, type UpstreamTimeout } from "../../domain/errors.ts"
import { unsupportedOption } from "../../domain/options/OptionSupport.ts"
import { type OptionName, optionNames } from "../../domain/options/SearchOptions.ts"
import { fusedNames } from "../../domain/providers/providerNames.ts"
import { unsentError } from "../../domain/providers/Unsent.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import { type Target, targets } from "../../domain/search/Target.ts"
import { labelOf, type TargetLabels } from "../../domain/search/TargetLabels.ts"
import { budgetLeft, type Candidate, type SearchError, single, type TargetSearch, upstreamError } from "./Candidate.ts"
import { fused } from "./Fused.ts"
import { Limits, providerTimedOut } from "./Limits.ts"
import { membersOf, type Provider, type ProviderEntry } from "./Provider.ts"
import { ProviderStates } from "./ProviderStates.ts"
import type { Reranker, RerankMonitor } from "./Reranker.ts"

/** The entries of each target, in failover order. */
export type ProviderTable = { readonly [T in Target]: ReadonlyArray<ProviderEntry> } & {
  /** Targets with hedged requests: if a provider is slower than its 95th percentile, the next one is called too. */
  readonly hedged?: ReadonlySet<Target>
  /** The operator's names for targets (R73). */
  readonly labels?: TargetLabels
  readonly rerankers?: { readonly [T in Target]?: Reranker }
}

/** Candidates that support the search and are not in a cool-down; otherwise those allowed as a last resort. */
const candidatesFor = (
  all: ReadonlyArray<Candidate>,
  request: SearchRequest,
  now: number
): ReadonlyArray<Candidate> => {
  const able = all.filter((candidate) => candidate.unserved(request) === undefined)
  const admitted = able.filter((candidate) => candidate.admits(now, request))
  return admitted.length > 0 ? admitted : able.filter((candidate) => candidate.isLastResort(request))
}

/** A search does not wait longer than this for one provider while another one can be asked at once. */
const maxTurnMs = 2_000

/** Puts providers that can be asked at once first, if the first one would keep the search waiting too long (R77). */
const readyFirst = (
  candidates: ReadonlyArray<Candidate>,
  search: TargetSearch,
  now: number
): ReadonlyArray<Candidate> => {
  const [first] = candidates
  if (candidates.length < 2 || first === undefined || first.waitMs(search, now) <= maxTurnMs) return candidates
  const isReady = (candidate: Candidate) => candidate.waitMs(search, now) === 0
  return [...candidates.filter(isReady), ...candidates.filter((candidate) => !isReady(candidate))]
}

const noteLeftOut = (
  search: TargetSearch,
  all: ReadonlyArray<Candidate>,
  candidates: ReadonlyArray<Candidate>,
  now: number
): void => {
  if (candidates.length === all.length) return
  for (const candidate of all) if (!candidates.includes(candidate)) candidate.leaveOut(search, now)
}

/** For searches whose target has no provider. */
const unservedError = new UpstreamError({
  message: "This target has no search provider on this server. Nothing was charged.",
  unsent: true
})

/** Calls providers one after another. Each gets an equal share of the remaining time, so that one can hang. */
const failOver = (
  search: TargetSearch,
  [first, ...others]: ReadonlyArray<Candidate>
): Effect.Effect<Answer, SearchError> => {
  if (first === undefined) return Effect.fail(upstreamError)
  if (others.length === 0) return first.attempt(search, { share: 1, isLast: true })
  const share = 1 / (others.length + 1)
  return Effect.catch(first.attempt(search, { share, isLast: false }), () => failOver(search, others))
}

/**
 * Hedges requests: calls the first provider, and the others as soon as it fails or is slower than usual. The first
 * answer wins and interrupts the other attempts.
 */
const hedge = (
  search: TargetSearch,
  [first, ...others]: ReadonlyArray<Candidate>
): Effect.Effect<Answer, SearchError> => {
  if (first === undefined) return Effect.fail(upstreamError)
  if (others.length === 0) return first.attempt(search, { share: 1, isLast: true })
  return Clock.clockWith((clock) => {
    const share = 1 / (others.length + 1)
    const shareMs = budgetLeft(search, clock) * share
    const failure = Latch.makeUnsafe(false)
    const slowness = Effect.sleep(Math.min(first.slowMs() ?? shareMs, shareMs))
    const second = hedge(search, others).pipe(
      // The race interrupts the first attempt, which therefore cannot record its own slowness.
      Effect.tap(() => (Latch.isOpen(failure) ? Effect.void : first.recordOvertaking(search)))
    )
    return Effect.race(
      Effect.tapError(first.attempt(search, { share: 1, isLast: false }), () => failure.open),
      Effect.andThen(Effect.raceFirst(failure.await, slowness), second)
    )
  })
}

const candidatesOf = Effect.fnUntraced(function* (table: ProviderTable, timeoutError: UpstreamTimeout) {
  const states = yield* ProviderStates
  const lists = new Map<Target, ReadonlyArray<Candidate>>()
  for (const target of targets) {
    const candidates = yield* Effect.forEach(table[target], (entry) =>
      "fuse" in entry
        ? Effect.map(Effect.forEach(entry.fuse, states.monitor), (monitors) => fused(monitors, entry))
        : Effect.map(states.monitor(entry), (monitor) => single(monitor, timeoutError))
    )
    lists.set(target, candidates)
  }
  return lists
})

const rerankersOf = Effect.fnUntraced(function* ({ rerankers = {} }: ProviderTable) {
  const states = yield* ProviderStates
  const monitors = new Map<Target, RerankMonitor>()
  for (const target of targets) {
    const reranker = rerankers[target]
    if (reranker !== undefined) monitors.set(target, yield* states.reranker(target, reranker))
  }
  /** Never fails: without a better order, the provider's order stays. */
  return (answer: Effect.Effect<Answer, SearchError>, search: TargetSearch) => {
    const monitor = monitors.get(search.request.target)
    if (monitor === undefined) return answer
    return Effect.flatMap(answer, (found) =>
      Clock.clockWith((clock) => monitor.rerank(search.request.query, found, budgetLeft(search, clock)))
    )
  }
})

type CandidateLists = ReadonlyMap<Target, ReadonlyArray<Candidate>>

/** The option that no provider of the target supports, in combination with the rest of the search. */
const missingOption = (providers: ReadonlyArray<Provider>, request: SearchRequest): OptionName | undefined => {
  const missing = providers.map(({ capabilities }) =>
    capabilities === undefined ? undefined : unsupportedOption(capabilities, request)
  )
  return optionNames.find((name) => missing.includes(name))
}

/** The error for a search whose options no provider of its target supports; undefined for any other. */
const unsupported = (table: ProviderTable, lists: CandidateLists, request: SearchRequest) => {
  if (request.options === undefined) return undefined
  const serves = (target: Target) =>
    (lists.get(target) ?? []).some((candidate) => candidate.unserved({ ...request, target }) === undefined)
  if (serves(request.target)) return undefined
  const option = missingOption(table[request.target].flatMap(membersOf), request)
  if (option === undefined) return undefined
  const others = targets.filter(serves).map((target) => labelOf(target, table.labels))
  const advice = others.length === 0 ? "No target of this server does." : `These targets do: ${others.join(", ")}.`
  const message = `${labelOf(request.target, table.labels)} does not support ${option} as sent. ${advice}`
  return new UnsupportedParameter({ message })
}

const isServed = Effect.succeed(true)

const servedBy = (providers: ReadonlyArray<Provider>, target: Target): Effect.Effect<boolean> =>
  providers.some(({ isEmpty }) => isEmpty === undefined)
    ? isServed
    : Effect.map(
        Effect.forEach(providers, ({ isEmpty }) => isEmpty?.(target) ?? Effect.succeed(false)),
        (all) => all.includes(false)
      )

/**
 * Searches at the providers of a target, in order until one answers, within the search's time.
 *
 * Layers: `ProviderFile`, and `layer` for a table of providers. To provide your own:
 *
 * ```ts
 * const mine: Provider = {
 *   name: "mine",
 *   search: ({ query }) => Effect.succeed([{ url: "https://example.com/", title: query, snippet: "" }])
 * }
 * const providers = Providers.layer({
 *   alpha_search: [mine],
 *   beta_search: [],
 *   gamma_search: [],
 *   delta_search: [],
 *   epsilon_search: [],
 *   zeta_search: []
 * })
 * ```
 */
export class Providers extends Context.Service<
  Providers,
  {
    /** Returns a provider's ranked answer, at the latest at its end. The error says if no provider was asked. */
    readonly search: (search: TargetSearch) => Effect.Effect<Answer, SearchError>
    /**
     * Fails if no provider of the target supports the search's options (R62). Returns an error if the target has no
     * provider or no documents.
     */
    readonly check: (request: SearchRequest) => Effect.Effect<UpstreamError | undefined, UnsupportedParameter>
    /** False without a provider or documents. */
    readonly serves: (target: Target) => Effect.Effect<boolean>
    /** The operator's names for targets (R73). */
    readonly labels: TargetLabels
    /** The names of each target's providers, in failover order. */
    readonly order: { readonly [T in Target]?: ReadonlyArray<string> }
  }
>()("quarry/services/providers/Providers") {
  static readonly layer = (table: ProviderTable): Layer.Layer<Providers, never, Limits | ProviderStates> =>
    Layer.effect(
      Providers,
      Effect.gen(function* () {
        const timeoutError = providerTimedOut((yield* Limits).providerTimeout)
        const lists = yield* candidatesOf(table, timeoutError)
        const rerank = yield* rerankersOf(table)
        const search = (search: TargetSearch) =>
          Clock.clockWith((clock) => {
            const { request } = search
            // A search that joined another one may have used up its time when that one failed.
            if (budgetLeft(search, clock) === 0) return Effect.fail(timeoutError)
            const now = clock.currentTimeMillisUnsafe()
            const ofTarget = lists.get(request.target) ?? []
            const candidates = candidatesFor(ofTarget, request, now)
            noteLeftOut(search, ofTarget, candidates, now)
            const strategy = table.hedged?.has(request.target) === true ? hedge : failOver
            const answer = Effect.mapError(strategy(search, readyFirst(candidates, search, now)), (error) =>
              search.attempts.sentAt === undefined ? unsentError(search.attempts.unsentReasons) : error
            )
            return rerank(answer, search)
          })
        const serves = (target: Target) => servedBy(table[target].flatMap(membersOf), target)
        return Providers.of({
          search,
          check: (request) => {
            const error = unsupported(table, lists, request)
            if (error !== undefined) return Effect.fail(error)
            return Effect.map(serves(request.target), (isServed) => (isServed ? undefined : unservedError))
          },
          serves,
          labels: table.labels ?? {},
          order: Record.fromIterableWith(targets, (target) => [
            target,
            table[target].map((entry) =>
              membersOf(entry)
                .map(({ name }) => name)
                .join(fusedNames)
            )
          ])
        })
      })
    )
}
