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
import { observe, secondsSince } from "../../services/Instrument.ts"
import { batchDuration, batchRetries, batchSize, ledgerApart, ledgerWaiting } from "../../services/Metrics.ts"
import { sampledSpan } from "../../services/Tracing.ts"
import { isTransient, retryTransient, retryUntilKnown } from "./Transient.ts"

export interface GroupCommitOptions<Entry, Answer> {
  /** What a batch is called in traces and metrics: the function of the database that carries it. */
  readonly name: string
  /** Carries the entries in one round trip and answers each, in their order. It may run twice for the same entries. */
  readonly run: (batch: Arr.NonEmptyReadonlyArray<Entry>) => Effect.Effect<ReadonlyArray<Answer>, SqlError.SqlError>
  /** Whose entry it is. */
  readonly ownerOf: (entry: Entry) => string
  /** Entries in one batch at most. */
  readonly maxBatch: number
  /** Entries of one owner in one batch at most, so that the flood of one does not starve the others. */
  readonly maxPerOwner: number
  /** How long a batch is sent again whose answer was lost; a few times when undefined. */
  readonly uncertainty?: Duration.Duration | undefined
}

interface Waiting<Entry, Answer> {
  readonly entry: Entry
  readonly answer: (answer: Effect.Effect<Answer>) => void
  /** Of whoever asked, where that is kept. */
  readonly span: Tracer.Span | undefined
  /** Whoever asked went away before the entry was sent. */
  abandoned: boolean
}

/** The entries of an owner whose rows somebody else has locked. */
interface Apart<Entry, Answer> {
  readonly line: Array<Waiting<Entry, Answer>>
  sending: boolean
}

/** Statements for owners apart that run at once: each may wait for a lock, and holds a connection while it does. */
const maxSentApart = 2

/**
 * Many small writes as few large ones: whatever arrives while one batch is on the wire forms the next, and nothing
 * waits when none is. Batches run in a fiber of the scope, which ends only when all is sent, so that no caller's
 * interruption stops the others' writes. An interrupted caller's entry is dropped when it has not been sent yet, and
 * carried out otherwise. A failure of the database is a defect of the entries it happened to.
 *
 * A batch that could not get its locks in time is sent again owner by owner, and an owner whose rows stay locked is
 * sent apart from the others until they are free: the others wait for it once.
 */
export const makeGroupCommit = Effect.fnUntraced(function* <Entry, Answer>(
  options: GroupCommitOptions<Entry, Answer>
): Effect.fn.Return<(entry: Entry) => Effect.Effect<Answer>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const retry = options.uncertainty === undefined ? retryTransient : retryUntilKnown(options.uncertainty)
  const lines = new Map<string, Array<Waiting<Entry, Answer>>>()
  const apart = new Map<string, Apart<Entry, Answer>>()
  const permits = yield* Semaphore.make(maxSentApart)
  let sending = false

  /** The next batch: each owner's oldest entries. An owner with more of them goes to the end of the round. */
  const take = (): Array<Waiting<Entry, Answer>> => {
    const batch: Array<Waiting<Entry, Answer>> = []
    const owners = Array.from(lines.keys()).slice(0, options.maxBatch)
    for (const owner of owners) {
      const line = lines.get(owner) ?? []
      const taken = line.splice(0, Math.min(options.maxPerOwner, options.maxBatch - batch.length))
      lines.delete(owner)
      if (line.length > 0) lines.set(owner, line)
      batch.push(...taken.filter((item) => !item.abandoned))
      if (batch.length === options.maxBatch) break
    }
    return batch
  }

  const send = Effect.fnUntraced(function* (batch: Batch<Entry, Answer>) {
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

  // An alert needs the zero: the first increase of a counter that is not there yet is none.
  yield* Metric.update(batchRetries.of(options.name), 0)
  yield* observe(
    ledgerWaiting.of(options.name),
    () => waiting(lines.values()) + waiting(Array.from(apart.values(), ({ line }) => line))
  )
  yield* observe(ledgerApart.of(options.name), () => apart.size)

  /**
   * Runs what serves many in the context of none of them: whose request woke it is chance, and no parent of it. It
   * begins after what is being run now, so that the first batch too holds all that arrives together.
   */
  const forkApart = (effect: Effect.Effect<void>): void =>
    void Fiber.runIn(fork(Effect.andThen(Effect.yieldNow, effect), { uninterruptible: true }), scope)

  const conclude = (batch: Batch<Entry, Answer>, exit: Outcome<Answer>): Effect.Effect<void> =>
    Exit.isFailure(exit) && batch.length > 1 && !failedFor(exit, isTheDatabases)
      ? Effect.forEach(batch, (item) => Effect.flatMap(send([item]), (alone) => conclude([item], alone)), {
          discard: true
        })
      : Effect.sync(() => {
          for (const [index, item] of batch.entries()) item.answer(answerOf(exit, index))
        })

  // `sending` is cleared in the same synchronous step that saw nothing waiting: an entry that arrives right after it
  // starts a fiber of its own.
  const drain: Effect.Effect<void> = Effect.gen(function* () {
    while (lines.size > 0) {
      const batch = take()
      if (!Arr.isArrayNonEmpty(batch)) continue
      const exit = yield* send(batch)
      if (failedFor(exit, isLockTimeout)) setApart(batch)
      else yield* conclude(batch, exit)
    }
    sending = false
  })

  const wake = (): void => {
    if (sending || lines.size === 0) return
    sending = true
    forkApart(drain)
  }

  const setApart = (batch: Batch<Entry, Answer>): void => {
    for (const [owner, items] of Object.entries(Arr.groupBy(batch, (item) => options.ownerOf(item.entry)))) {
      apart.set(owner, { line: [...items, ...(lines.get(owner) ?? [])], sending: false })
      lines.delete(owner)
      wakeApart(owner)
    }
  }

  const drainApart = Effect.fnUntraced(function* (owner: string, own: Apart<Entry, Answer>) {
    while (own.line.length > 0) {
      const batch = own.line.splice(0, options.maxPerOwner).filter((item) => !item.abandoned)
      if (!Arr.isArrayNonEmpty(batch)) continue
      const exit = yield* permits.withPermit(send(batch))
      yield* conclude(batch, exit)
      if (failedFor(exit, isLockTimeout)) continue
      apart.delete(owner)
      if (own.line.length > 0) lines.set(owner, own.line)
      return wake()
    }
    own.sending = false
  })

  const wakeApart = (owner: string): void => {
    const own = apart.get(owner)
    if (own === undefined || own.sending) return
    own.sending = true
    forkApart(drainApart(owner, own))
  }

  // In one synchronous step: nobody can be interrupted between taking a place in a line and waiting for its answer.
  const submit = (entry: Entry, span: Tracer.Span | undefined) =>
    Effect.callback<Answer>((answer) => {
      const item: Waiting<Entry, Answer> = { entry, answer, span, abandoned: false }
      const owner = options.ownerOf(entry)
      const line = apart.get(owner)?.line ?? lines.get(owner)
      if (line === undefined) lines.set(owner, [item])
      else line.push(item)
      if (apart.has(owner)) wakeApart(owner)
      else wake()
      return Effect.sync(() => {
        item.abandoned = true
      })
    })

  return (entry) => Effect.flatMap(sampledSpan, (span) => submit(entry, span))
})

const waiting = (lines: Iterable<ReadonlyArray<unknown>>): number =>
  Array.from(lines, (line) => line.length).reduce((sum, length) => sum + length, 0)
/**
 * A batch is a trace of its own, linked with each of the requests that it carries, and they with it: it is part of
 * none of them. Its statement is not told of a second time.
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

type Batch<Entry, Answer> = Arr.NonEmptyReadonlyArray<Waiting<Entry, Answer>>
type Outcome<Answer> = Exit.Exit<ReadonlyArray<Answer>, SqlError.SqlError>

const failedFor = (exit: Outcome<unknown>, is: (error: SqlError.SqlError) => boolean): boolean => {
  const error = Exit.isFailure(exit) ? Cause.findError(exit.cause) : undefined
  return error !== undefined && Result.isSuccess(error) && is(error.success)
}

const isLockTimeout = ({ reason }: SqlError.SqlError): boolean => reason._tag === "LockTimeoutError"

/** Not the fault of one entry: sent one by one, they would only ask an overloaded or unreachable database more often. */
const isTheDatabases = (error: SqlError.SqlError): boolean => isTransient(error) || error.isRetryable

const answerOf = <Answer>(
  exit: Exit.Exit<ReadonlyArray<Answer>, SqlError.SqlError>,
  index: number
): Exit.Exit<Answer> => {
  if (Exit.isFailure(exit)) return Exit.die(Cause.squash(exit.cause))
  const answer = exit.value[index]
  return answer === undefined
    ? Exit.die(new Error("the batch answered fewer entries than it had"))
    : Exit.succeed(answer)
}
