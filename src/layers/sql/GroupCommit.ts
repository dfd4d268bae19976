import { Array as Arr, Cause, Deferred, type Duration, Effect, Exit, Result, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { isTransient, retryTransient, retryUntilKnown } from "./Transient.ts"

export interface GroupCommitOptions<Entry, Answer> {
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
  readonly answer: Deferred.Deferred<Answer>
  /** Whoever asked went away before the entry was sent. */
  abandoned: boolean
}

/**
 * Many small writes as few large ones: whatever arrives while one batch is on the wire forms the next, and nothing
 * waits when none is. Batches run in a fiber of the scope, which ends only when all is sent, so that no caller's
 * interruption stops the others' writes. An interrupted caller's entry is dropped when it has not been sent yet, and
 * carried out otherwise. A failure of the database is a defect of the entries it happened to.
 */
export const makeGroupCommit = Effect.fnUntraced(function* <Entry, Answer>(
  options: GroupCommitOptions<Entry, Answer>
): Effect.fn.Return<(entry: Entry) => Effect.Effect<Answer>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const retry = options.uncertainty === undefined ? retryTransient : retryUntilKnown(options.uncertainty)
  const lines = new Map<string, Array<Waiting<Entry, Answer>>>()
  let sending = false

  const enqueue = (item: Waiting<Entry, Answer>): void => {
    const owner = options.ownerOf(item.entry)
    const line = lines.get(owner)
    if (line === undefined) lines.set(owner, [item])
    else line.push(item)
  }

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

  const send = (batch: Arr.NonEmptyReadonlyArray<Waiting<Entry, Answer>>): Effect.Effect<void> =>
    options.run(Arr.map(batch, (item) => item.entry)).pipe(
      retry,
      Effect.exit,
      Effect.flatMap((exit) => {
        if (Exit.isFailure(exit) && batch.length > 1 && mayBeOneEntrysFault(exit.cause)) {
          return Effect.forEach(batch, (item) => send([item]), { discard: true })
        }
        return Effect.sync(() => {
          for (const [index, item] of batch.entries()) Deferred.doneUnsafe(item.answer, answerOf(exit, index))
        })
      })
    )

  // `sending` is cleared in the same synchronous step that saw nothing waiting: an entry that arrives right after it
  // starts a fiber of its own.
  const drain = Effect.gen(function* () {
    while (lines.size > 0) {
      const batch = take()
      if (Arr.isArrayNonEmpty(batch)) yield* send(batch)
    }
    sending = false
  }).pipe(Effect.uninterruptible)

  return (entry) =>
    Effect.uninterruptibleMask((restore) => {
      const item: Waiting<Entry, Answer> = { entry, answer: Deferred.makeUnsafe(), abandoned: false }
      const answer = restore(Deferred.await(item.answer)).pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            item.abandoned = true
          })
        )
      )
      enqueue(item)
      if (sending) return answer
      sending = true
      return Effect.andThen(Effect.forkIn(drain, scope), answer)
    })
})

/** Whether the entries may succeed one by one. An overloaded or unreachable database would only be asked more often. */
const mayBeOneEntrysFault = (cause: Cause.Cause<SqlError.SqlError>): boolean => {
  const error = Cause.findError(cause)
  return Result.isFailure(error) || !(isTransient(error.success) || error.success.isRetryable)
}

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
