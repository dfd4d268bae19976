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
  /** Name of the batch in traces and metrics: the database function or table that it calls. */
  readonly name: string
  /**
   * Sends the entries in one round trip. Returns their answers in the same order. May run twice for the same entries.
   */
  readonly run: (batch: Arr.NonEmptyReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<Answer>, SqlError.SqlError>
  /** Id of the account or key whose rows the batch locks. */
  readonly ownerOf: (entry: Entry) => string
  readonly maxBatch: number
  /** Maximum entries of one owner in a batch, so that a busy owner leaves room for others. */
  readonly maxPerOwner: number
  /** Time for resending a batch whose answer was lost. By default a few attempts. */
  readonly uncertainty?: Duration.Duration | undefined
}

interface Item<Entry, Answer> {
  readonly entry: Entry
  readonly answer: (answer: Effect.Effect<Answer>) => void
  readonly span: Tracer.Span | undefined
  /** True when the caller was interrupted before the entry was sent. */
  abandoned: boolean
}

/** Items of one owner, oldest first. */
type Line<Entry, Answer> = Array<Item<Entry, Answer>>
type Batch<Entry, Answer> = Arr.NonEmptyReadonlyArray<Item<Entry, Answer>>
type BatchExit<Answer> = Exit.Exit<ReadonlyArray<Answer>, SqlError.SqlError>

/** Items of an owner whose rows another transaction has locked. */
interface LockedOwner<Entry, Answer> {
  readonly line: Line<Entry, Answer>
  sending: boolean
}

interface GroupCommit<Entry, Answer> {
  readonly options: GroupCommitOptions<Entry, Answer>
  readonly retry: <A>(effect: Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A, SqlError.SqlError>
  readonly start: (effect: Effect.Effect<void>) => void
  readonly permits: Semaphore.Semaphore
  /** Waiting items by owner. Owners take turns in insertion order. */
  readonly lines: Map<string, Line<Entry, Answer>>
  readonly lockedOwners: Map<string, LockedOwner<Entry, Answer>>
  sending: boolean
}

/** Concurrent statements for locked owners. Each holds a connection while it waits for a lock. */
const maxSentApart = 2

/**
 * Combines many small writes into a few large ones. Entries that arrive while a batch is in flight form the next batch.
 * An entry is sent immediately if nothing is in flight. Batches run in a fiber of the scope, so interrupting one caller
 * does not cancel the writes of others. The scope closes after all batches have finished. If a caller is interrupted
 * before its entry is sent, the entry is dropped. A database failure becomes a defect for every entry in the batch.
 *
 * If a batch times out waiting for locks, its entries are sent again, one owner at a time. An owner whose rows stay
 * locked is then sent separately until they are free, so that the other owners wait for it only once.
 */
export const makeGroupCommit = Effect.fnUntraced(function* <Entry, Answer>(
  options: GroupCommitOptions<Entry, Answer>
): Effect.fn.Return<(entry: Entry) => Effect.Effect<Answer>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const commit: GroupCommit<Entry, Answer> = {
    options,
    retry: options.uncertainty === undefined ? retryTransient : retryUntilKnown(options.uncertainty),
    // Runs in the layer's context, because a batch belongs to no single request's trace. Yields first, so that the
    // first batch includes all entries that arrive together.
    start: (effect) =>
      void Fiber.runIn(fork(Effect.andThen(Effect.yieldNow, effect), { uninterruptible: true }), scope),
    permits: yield* Semaphore.make(maxSentApart),
    lines: new Map(),
    lockedOwners: new Map(),
    sending: false
  }
  // Initializes the counter to zero: an alert cannot see the first increase of a counter that did not exist before.
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

/** Queues an entry in one synchronous step, so that an interruption cannot come between queueing and waiting. */
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

/**
 * Sends batches until no item is waiting. `sending` is cleared in the same synchronous step that finds the queue empty,
 * so an entry that arrives right afterwards starts a new fiber.
 */
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

/**
 * Takes the oldest items of each owner. An owner with more items moves to the end of the round. The first items of all
 * owners precede the second ones, because callers resume in the order of the batch.
 */
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

/** Sends the owner's items until its rows are unlocked, then queues the rest with the other owners. */
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

/**
 * Records a batch as its own trace with links to and from its requests. Its span replaces that of the SQL statement.
 */
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

/**
 * True for a failure that no entry caused. Sending entries one by one would only add load to an overloaded database.
 */
const isOfTheDatabase = (error: SqlError.SqlError): boolean => isTransient(error) || error.isRetryable

const answerOf = <Answer>(exit: BatchExit<Answer>, index: number): Exit.Exit<Answer> => {
  if (Exit.isFailure(exit)) return Exit.die(Cause.squash(exit.cause))
  const answer = exit.value[index]
  return answer === undefined
    ? Exit.die(new Error("the batch answered fewer entries than it had"))
    : Exit.succeed(answer)
}
