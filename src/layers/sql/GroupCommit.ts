import {
  Array as Arr,
  Cause,
  Clock,
  type Duration,
  Effect,
  Exit,
  Fiber,
  Metric,
  Result,
  type Scope,
  Semaphore,
  type Tracer
} from "effect"
import type { SqlError } from "effect/sql"
import { observe, secondsSince } from "../../services/telemetry/Instrument.ts"
import { batchDuration, batchRetries, batchSize, ledgerApart, ledgerWaiting } from "../../services/telemetry/Metrics.ts"
import { sampledSpan } from "../../services/telemetry/Tracing.ts"
import { isTransient, retryTransient, retryUntilKnown } from "./Transient.ts"

export interface GroupCommitOptions<Entry, Answer> {
  readonly name: string
  /** Returns the answers in the order of the entries. May run twice for the same entries. */
  readonly run: (batch: Arr.NonEmptyReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<Answer>, SqlError.SqlError>
  /** Id of the account or key whose rows the batch locks. */
  readonly ownerOf: (entry: Entry) => string
  readonly maxBatch: number
  /** Leaves room in a batch for other owners. */
  readonly maxPerOwner: number
  /** Time for resending a batch whose answer was lost. Defaults to a few attempts. */
  readonly uncertainty?: Duration.Duration | undefined
}

interface Item<Entry, Answer> {
  readonly entry: Entry
  readonly answer: (answer: Effect.Effect<Answer>) => void
  readonly span: Tracer.Span | undefined
  abandoned: boolean
}

/** Items of one owner, oldest first. */
type Line<Entry, Answer> = Array<Item<Entry, Answer>>
type Batch<Entry, Answer> = Arr.NonEmptyReadonlyArray<Item<Entry, Answer>>
type BatchExit<Answer> = Exit.Exit<ReadonlyArray<Answer>, SqlError.SqlError>

interface LockedOwner<Entry, Answer> {
  readonly line: Line<Entry, Answer>
  sending: boolean
}

interface GroupCommit<Entry, Answer> {
  readonly options: GroupCommitOptions<Entry, Answer>
  readonly retry: <A>(effect: Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A, SqlError.SqlError>
  readonly start: (effect: Effect.Effect<void>) => void
  readonly permits: Semaphore.Semaphore
  /** Owners take turns in insertion order. */
  readonly lines: Map<string, Line<Entry, Answer>>
  readonly lockedOwners: Map<string, LockedOwner<Entry, Answer>>
  sending: boolean
}

/** Each holds a connection while it waits for a lock. */
const maxSentApart = 2

/**
 * Combines small writes into batches: entries that arrive while a batch is in flight form the next batch. Batches run
 * in the scope, so interrupting a caller cancels only its own unsent entry. A database failure is a defect for every
 * entry of the batch. After a lock timeout, owners are sent one at a time, and an owner whose rows stay locked is then
 * sent separately, so that the others wait for it only once.
 */
export const makeGroupCommit = Effect.fnUntraced(function* <Entry, Answer>(
  options: GroupCommitOptions<Entry, Answer>
): Effect.fn.Return<(entry: Entry) => Effect.Effect<Answer>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const commit: GroupCommit<Entry, Answer> = {
    options,
    retry: options.uncertainty === undefined ? retryTransient : retryUntilKnown(options.uncertainty),
    // In the layer's context, because a batch belongs to no single request's trace. Yields first, so that entries that
    // arrive together share the first batch.
    start: (effect) =>
      void Fiber.runIn(fork(Effect.andThen(Effect.yieldNow, effect), { uninterruptible: true }), scope),
    permits: yield* Semaphore.make(maxSentApart),
    lines: new Map(),
    lockedOwners: new Map(),
    sending: false
  }
  // Starts at 0, because an alert cannot see the first increase of a new counter.
  yield* Metric.update(batchRetries.of(options.name), 0)
  yield* observe(ledgerWaiting.of(options.name), () => countWaiting(commit))
  yield* observe(ledgerApart.of(options.name), () => commit.lockedOwners.size)
  return (entry) => Effect.flatMap(sampledSpan, (span) => submit(commit, entry, span))
})

const countWaiting = <Entry, Answer>({ lines, lockedOwners }: GroupCommit<Entry, Answer>): number => {
  let count = 0
  for (const line of lines.values()) count += line.length
  for (const { line } of lockedOwners.values()) count += line.length
  return count
}

/** Queues in one synchronous step, so that no interruption comes between queueing and waiting. */
const submit = <Entry, Answer>(commit: GroupCommit<Entry, Answer>, entry: Entry, span: Tracer.Span | undefined) =>
  Effect.callback<Answer>((answer) => {
    const item: Item<Entry, Answer> = { entry, answer, span, abandoned: false }
    const owner = commit.options.ownerOf(entry)
    const line = commit.lockedOwners.get(owner)?.line ?? commit.lines.get(owner)
    if (line === undefined) commit.lines.set(owner, [item])
    else line.push(item)
    if (commit.lockedOwners.has(owner)) wakeLockedOwner(commit, owner)
    else wake(commit)
    return Effect.sync(() => {
      item.abandoned = true
    })
  })

const wake = <Entry, Answer>(commit: GroupCommit<Entry, Answer>): void => {
  if (commit.sending || commit.lines.size === 0) return
  commit.sending = true
  commit.start(drain(commit))
}

/** `sending` is cleared in the step that finds the queue empty, so a later entry starts a new fiber. */
const drain = Effect.fnUntraced(function* <Entry, Answer>(commit: GroupCommit<Entry, Answer>) {
  while (commit.lines.size > 0) {
    const batch = takeBatch(commit)
    if (!Arr.isArrayNonEmpty(batch)) continue
    const exit = yield* send(commit, batch)
    if (failedWith(exit, isLockTimeout)) setApart(commit, batch)
    else yield* conclude(commit, batch, exit)
  }
  commit.sending = false
})

/** The first items of all owners precede the second ones, because callers resume in the order of the batch. */
const takeBatch = <Entry, Answer>({ lines, options }: GroupCommit<Entry, Answer>): Line<Entry, Answer> => {
  const taken: Array<Line<Entry, Answer>> = []
  let room = options.maxBatch
  for (const owner of Array.from(lines.keys()).slice(0, options.maxBatch)) {
    const line = lines.get(owner) ?? []
    const items = line.splice(0, Math.min(options.maxPerOwner, room))
    lines.delete(owner)
    if (line.length > 0) lines.set(owner, line)
    taken.push(items.filter((item) => !item.abandoned))
    room -= items.length
    if (room === 0) break
  }
  return inTurns(taken)
}

const inTurns = <Item>(lines: ReadonlyArray<ReadonlyArray<Item>>): Array<Item> => {
  const items: Array<Item> = []
  for (let turn = 0, rest = lines; rest.length > 0; turn++) {
    rest = rest.filter((line) => turn < line.length)
    for (const line of rest) items.push(...line.slice(turn, turn + 1))
  }
  return items
}

const send = Effect.fnUntraced(function* <Entry, Answer>(
  { options, retry }: GroupCommit<Entry, Answer>,
  batch: Batch<Entry, Answer>
) {
  const startedAt = yield* Clock.currentTimeNanos
  let resent = -1
  const run = Effect.suspend(() => {
    resent++
    return options.run(Arr.map(batch, (item) => item.entry))
  })
  const exit = yield* Effect.exit(traced(options.name, batch, retry(run)))
  const duration = batchDuration.of(options.name, Exit.isSuccess(exit) ? "ok" : "failed")
  yield* Metric.update(duration, yield* secondsSince(startedAt))
  yield* Metric.update(batchSize.of(options.name), batch.length)
  yield* Metric.update(batchRetries.of(options.name), Math.max(0, resent))
  return exit
})

/** If one entry made the batch fail, sends each entry separately so that the others succeed. */
const conclude = <Entry, Answer>(
  commit: GroupCommit<Entry, Answer>,
  batch: Batch<Entry, Answer>,
  exit: BatchExit<Answer>
): Effect.Effect<void> =>
  Exit.isFailure(exit) && batch.length > 1 && !failedWith(exit, isOfTheDatabase)
    ? Effect.forEach(
        batch,
        (item) => Effect.flatMap(send(commit, [item]), (alone) => conclude(commit, [item], alone)),
        {
          discard: true
        }
      )
    : Effect.sync(() => {
        for (const [index, item] of batch.entries()) item.answer(answerOf(exit, index))
      })

const setApart = <Entry, Answer>(commit: GroupCommit<Entry, Answer>, batch: Batch<Entry, Answer>): void => {
  for (const [owner, items] of Object.entries(Arr.groupBy(batch, (item) => commit.options.ownerOf(item.entry)))) {
    commit.lockedOwners.set(owner, { line: [...items, ...(commit.lines.get(owner) ?? [])], sending: false })
    commit.lines.delete(owner)
    wakeLockedOwner(commit, owner)
  }
}

const wakeLockedOwner = <Entry, Answer>(commit: GroupCommit<Entry, Answer>, owner: string): void => {
  const locked = commit.lockedOwners.get(owner)
  if (locked === undefined || locked.sending) return
  locked.sending = true
  commit.start(drainLockedOwner(commit, owner, locked))
}

const drainLockedOwner = Effect.fnUntraced(function* <Entry, Answer>(
  commit: GroupCommit<Entry, Answer>,
  owner: string,
  locked: LockedOwner<Entry, Answer>
) {
  while (locked.line.length > 0) {
    const batch = locked.line.splice(0, commit.options.maxPerOwner).filter((item) => !item.abandoned)
    if (!Arr.isArrayNonEmpty(batch)) continue
    const exit = yield* commit.permits.withPermit(send(commit, batch))
    yield* conclude(commit, batch, exit)
    if (failedWith(exit, isLockTimeout)) continue
    commit.lockedOwners.delete(owner)
    if (locked.line.length > 0) commit.lines.set(owner, locked.line)
    return wake(commit)
  }
  locked.sending = false
})

/** A batch is its own trace, linked to and from its requests. Its span replaces that of the SQL statement. */
const traced = <A, E>(
  name: string,
  batch: ReadonlyArray<{ readonly span: Tracer.Span | undefined }>,
  run: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const untraced = Effect.withTracerEnabled(run, false)
  const spans = batch.flatMap(({ span }) => (span === undefined ? [] : [span]))
  if (spans.length === 0) return untraced
  const links = spans.map((span) => ({ span, attributes: {} }))
  const attributes = {
    "db.system.name": "postgresql",
    "db.operation.name": name,
    "quarry.ledger.batch_size": batch.length
  }
  return Effect.useSpan(name, { root: true, kind: "client", links, attributes }, (span) => {
    for (const carried of spans) carried.addLinks([{ span, attributes: {} }])
    return untraced
  })
}

const failedWith = (exit: BatchExit<unknown>, is: (error: SqlError.SqlError) => boolean): boolean => {
  const error = Exit.isFailure(exit) ? Cause.findError(exit.cause) : undefined
  return error !== undefined && Result.isSuccess(error) && is(error.success)
}

const isLockTimeout = ({ reason }: SqlError.SqlError): boolean => reason._tag === "LockTimeoutError"

/** True if no entry caused the failure: sending entries one by one would only add load to the database. */
const isOfTheDatabase = (error: SqlError.SqlError): boolean => isTransient(error) || error.isRetryable

const answerOf = <Answer>(exit: BatchExit<Answer>, index: number): Exit.Exit<Answer> => {
  if (Exit.isFailure(exit)) return Exit.die(Cause.squash(exit.cause))
  const answer = exit.value[index]
  return answer === undefined
    ? Exit.die(new Error("the batch answered fewer entries than it had"))
    : Exit.succeed(answer)
}
