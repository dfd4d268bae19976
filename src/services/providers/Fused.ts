import { Clock, Effect, type Fiber, Latch } from "effect"
import { makeAdmits } from "../../domain/options/SearchOptions.ts"
import { fuseLists, onlyIn } from "../../domain/providers/Fusion.ts"
import { fusedNames } from "../../domain/providers/providerNames.ts"
import type { Answer } from "../../domain/search/Answer.ts"
import { rank, type UpstreamRow } from "../../domain/search/Organic.ts"
import { Ranking } from "../../domain/search/Ranking.ts"
import type { SearchRequest } from "../../domain/search/SearchRequest.ts"
import type { Attempt } from "./Attempts.ts"
import {
  type AttemptShare,
  type Candidate,
  call,
  type SearchError,
  type TargetSearch,
  upstreamError
} from "./Candidate.ts"
import { type Fusion, loadingMark, unservedBy } from "./Provider.ts"
import type { ProviderMonitor } from "./ProviderMonitor.ts"

/** Providers stop this much earlier than the search, so that the number of answers decides and not the deadline. */
const mergeMs = 100

type Rows = ReadonlyArray<UpstreamRow>

interface Member {
  readonly monitor: ProviderMonitor
  readonly entry: Attempt
  /** Undefined until it answers. */
  rows: Rows | undefined
  hasEnded: boolean
}

type Options = Pick<Fusion, "need" | "waitMs">

class Progress {
  readonly members: ReadonlyArray<Member>
  readonly need: number
  /** Open once enough members have answered. */
  readonly enough = Latch.makeUnsafe(false)
  /** Open once all members have ended, or too few are left to answer. */
  readonly over = Latch.makeUnsafe(false)

  constructor(members: ReadonlyArray<Member>, need: number) {
    this.members = members
    this.need = need
    this.update()
  }

  end(member: Member, rows: Rows | undefined): void {
    member.rows = rows
    member.hasEnded = true
    this.update()
  }

  get answered(): ReadonlyArray<Member & { readonly rows: Rows }> {
    return this.members.filter((member): member is Member & { readonly rows: Rows } => member.rows !== undefined)
  }

  private update(): void {
    const running = this.members.filter(({ hasEnded }) => !hasEnded).length
    const answers = this.answered.length
    if (answers >= this.need) this.enough.openUnsafe()
    if (running === 0 || answers + running < this.need) this.over.openUnsafe()
  }
}

const startMembers = (search: TargetSearch, monitors: ReadonlyArray<ProviderMonitor>, now: number) =>
  monitors.map((monitor): Member => {
    const entry = search.attempts.start(monitor.provider.name, now)
    return { monitor, entry, rows: undefined, hasEnded: false }
  })

/** Ends members that are still running. Does not wait for them: a server that ignores it would delay the answer. */
const stop = (
  { members }: Progress,
  fibers: ReadonlyArray<Fiber.Fiber<void>>,
  waitMs: number,
  isLate: boolean,
  now: number
): Effect.Effect<void> =>
  Effect.forEach(
    members,
    ({ entry, hasEnded, monitor }, index) => {
      if (hasEnded) return Effect.void
      if (isLate) entry.end(now, entry.isSent ? "timeout" : "busy")
      fibers[index]?.interruptUnsafe()
      return isLate && entry.isSent
        ? monitor.recordLateness(`no response within ${waitMs} ms of the other providers of its target`)
        : Effect.void
    },
    { discard: true }
  )

const merge = (
  { request }: TargetSearch,
  { answered, need }: Progress,
  startedAt: number
): Effect.Effect<Answer, SearchError> => {
  if (answered.length < need) return Effect.fail(upstreamError)
  const fused = fuseLists(
    answered.map(({ rows }) => rows),
    makeAdmits(request.options),
    (request.page - 1) * request.num + 1
  )
  const kept = fused.slice(0, request.num)
  const counts = onlyIn(kept, answered.length)
  for (const [index, { entry }] of answered.entries()) entry.merge(counts[index] ?? 0)
  const ranking = new Ranking(
    rank(
      kept.map(({ row }) => row),
      request.num
    )
  )
  const provider = answered.map(({ monitor }) => monitor.provider.name).join(fusedNames)
  const mark = loadingMark(
    answered.map(({ monitor }) => monitor.provider),
    startedAt
  )
  return Effect.succeed({ provider, ranking, cached: false, ...mark })
}

/** Asks all members at once. Returns when all have ended, or `waitMs` after `need` of them have answered (R63). */
const askAll = (
  search: TargetSearch,
  monitors: ReadonlyArray<ProviderMonitor>,
  { need, waitMs }: Options,
  share: AttemptShare
): Effect.Effect<Answer, SearchError> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const startedAt = clock.currentTimeMillisUnsafe()
    const members = startMembers(search, monitors, startedAt)
    const progress = new Progress(members, need)
    const fibers = yield* Effect.forEach(members, (member) => {
      const run = Effect.match(call(search, member.monitor, member.entry, { ...share, reserveMs: mergeMs }), {
        onSuccess: (rows) => {
          member.entry.end(clock.currentTimeMillisUnsafe())
          progress.end(member, rows)
        },
        onFailure: () => progress.end(member, undefined)
      })
      return Effect.forkDetach(run, { startImmediately: true })
    })
    const wait = Effect.raceFirst(progress.over.await, Effect.andThen(progress.enough.await, Effect.sleep(waitMs)))
    yield* Effect.onInterrupt(wait, () => stop(progress, fibers, waitMs, false, clock.currentTimeMillisUnsafe()))
    yield* stop(progress, fibers, waitMs, progress.answered.length >= need, clock.currentTimeMillisUnsafe())
    return yield* merge(search, progress, startedAt)
  })

/** Several providers whose results are merged. Those in a cool-down are skipped while enough others are left. */
export const fused = (monitors: ReadonlyArray<ProviderMonitor>, options: Options): Candidate => {
  const able = (request: SearchRequest) =>
    monitors.filter(({ provider }) => unservedBy(provider, request) === undefined)
  const admitted = (request: SearchRequest, now: number) => {
    const ready = able(request).filter((monitor) => monitor.admits(now))
    return ready.length >= options.need
      ? ready
      : able(request).filter((monitor) => monitor.admits(now) || monitor.isLastResort)
  }
  return {
    unserved: (request) => {
      if (able(request).length >= options.need) return undefined
      const unable = monitors.find(({ provider }) => unservedBy(provider, request) !== undefined)
      return unable === undefined ? "it has too few providers" : unservedBy(unable.provider, request)
    },
    admits: (now, request) => able(request).filter((monitor) => monitor.admits(now)).length >= options.need,
    isLastResort: (request) => able(request).filter(({ isLastResort }) => isLastResort).length >= options.need,
    slowMs: () => undefined,
    recordOvertaking: () => Effect.void,
    waitMs: ({ account, request }, now) => {
      const waits = admitted(request, now).map((monitor) => monitor.waitMs(account, now))
      return waits.toSorted((a, b) => a - b)[options.need - 1] ?? 0
    },
    leaveOut: ({ attempts, request }, now) => {
      for (const monitor of monitors) attempts.leaveOut(monitor.provider.name, monitor.reasonToSkip(request), now)
    },
    attempt: (search, share) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => askAll(search, admitted(search.request, now), options, share))
  }
}
