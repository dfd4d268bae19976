import {
  Clock,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  identity,
  Latch,
  Layer,
  type Scope,
  Semaphore,
  Tracer
} from "effect"
import type { Allowance } from "../domain/Account.ts"
import type { BulkRows } from "../domain/BulkRequest.ts"
import type { BulkBody, BulkLineBody, RowBody } from "../domain/BulkResult.ts"
import { internalError, type QuotaExceeded } from "../domain/errors.ts"
import { keepBatch, restoreBatch } from "../domain/KeptAnswer.ts"
import type { AccountPrincipal, Principal } from "../domain/Principal.ts"
import {
  type Batch,
  endRow,
  errorRow,
  newBatch,
  type Row,
  type RowDeps,
  type RowHooks,
  replayRow,
  runRows
} from "./Batch.ts"
import { BatchLines } from "./BatchLines.ts"
import { makeDispatch } from "./Dispatch.ts"
import { keyedRequest, waitForFirst } from "./Idempotency.ts"
import { Ids } from "./Ids.ts"
import { Limits } from "./Limits.ts"
import { type LedgerTimings, makeMetering, type OpenHold, type Receipt, type Replay } from "./Metering.ts"
import { Providers } from "./Providers.ts"
import { countRows, traceRows } from "./RowTelemetry.ts"
import type { KeyError } from "./Search.ts"
import { withSpan } from "./Tracing.ts"

/** A batch after its settlement: its dispatched rows are charged and logged. */
export interface BulkSettlement {
  readonly body: BulkBody
  readonly receipt: Receipt
  readonly timings: LedgerTimings
}

/** A batch that runs until it is settled, also when its caller has left. */
export interface StartedBatch<E = QuotaExceeded> {
  readonly id: string
  readonly settlement: Fiber.Fiber<BulkSettlement, E>
}

/** A batch whose rows are handed over as they are settled. */
export interface StreamedBatch {
  /** The allowance before the batch; undefined where no account pays. */
  readonly before: Allowance | undefined
  /** Waits for lines and takes all that are there. None means that the batch has ended. For one reader. */
  readonly take: Effect.Effect<ReadonlyArray<BulkLineBody>>
}

/** Runs batches: many searches with one hold and one time budget. */
export class Bulk extends Context.Service<
  Bulk,
  {
    /**
     * Reserves a credit for each valid row, runs the rows concurrently, and settles once. Dispatched rows are charged
     * and logged, and the rest of the hold is returned. The caller's interruption stops only rows that have not started
     * (R21); `onStart` gets what goes on without the caller.
     */
    readonly run: (
      principal: Principal,
      rows: BulkRows,
      onStart?: (batch: StartedBatch) => void
    ) => Effect.Effect<BulkSettlement, QuotaExceeded>
    /**
     * `run` for a request with an idempotency key (R44): a batch that was charged is not run again, and its answer comes
     * back for nothing. While the first request with the key runs, it waits for as long as a batch may take.
     */
    readonly runKeyed: (
      principal: AccountPrincipal,
      rows: BulkRows,
      key: string,
      onStart?: (batch: StartedBatch<QuotaExceeded | KeyError>) => void
    ) => Effect.Effect<BulkSettlement, QuotaExceeded | KeyError>
    /**
     * The same row by row (R46): each row is settled by itself, and its line can be read after that. It returns when the
     * credits are reserved. No row starts while the reader has lines to write. The end of the scope is the reader's: it
     * stops rows that have not started (R21).
     */
    readonly stream: (
      principal: Principal,
      rows: BulkRows,
      onStart?: (batch: StartedBatch) => void
    ) => Effect.Effect<StreamedBatch, QuotaExceeded, Scope.Scope>
  }
>()("quarry/services/Bulk") {
  static readonly layer = Layer.effect(
    Bulk,
    Effect.gen(function* () {
      const deps: Deps = {
        metering: yield* makeMetering,
        ids: yield* Ids,
        dispatch: yield* makeDispatch,
        budget: (yield* Limits).bulkBudget,
        providers: yield* Providers,
        scope: yield* Effect.scope,
        whole: yield* makeHooksOfWhole
      }

      // Runs in a fiber of its own, as a single search does: an interruption of the caller ends only its wait and the
      // start of further rows.
      const start = Effect.fnUntraced(function* <E>(
        principal: Principal,
        rows: BulkRows,
        reserve: Reserve<E>,
        onStart: ((batch: StartedBatch<E>) => void) | undefined
      ) {
        const batch = yield* newBatch(deps, principal, rows)
        const settlement = withSpan(
          "Bulk.run",
          { attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length } },
          () => runBatch(deps, batch, reserve)
        )
        const fiber = yield* Effect.forkIn(settlement, deps.scope, { startImmediately: true })
        onStart?.({ id: batch.id, settlement: fiber })
        return yield* Effect.onInterrupt(Fiber.join(fiber), () =>
          Effect.sync(() => {
            batch.isStopped = true
          })
        )
      })

      const stream = Effect.fnUntraced(function* (
        principal: Principal,
        rows: BulkRows,
        onStart?: (batch: StartedBatch) => void
      ) {
        const batch = yield* newBatch(deps, principal, rows)
        const lines = new BatchLines()
        const reserved = yield* Deferred.make<Allowance | undefined, QuotaExceeded>()
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            batch.isStopped = true
            lines.abandon()
          })
        )
        const settlement = withSpan(
          "Bulk.run",
          {
            attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length, "quarry.batch.stream": true }
          },
          () => streamBatch(deps, batch, lines, reserved)
        )
        const fiber = yield* Effect.forkIn(settlement, deps.scope, { startImmediately: true })
        onStart?.({ id: batch.id, settlement: fiber })
        const before = yield* Deferred.await(reserved)
        return { before, take: lines.take }
      })

      return Bulk.of({
        run: (principal, rows, onStart) =>
          start(principal, rows, (searches) => deps.metering.reserve(principal, searches), onStart),
        runKeyed: (principal, rows, key, onStart) =>
          waitForFirst(deps.budget)(start(principal, rows, reserveKeyed(deps, principal, rows, key), onStart)),
        stream
      })
    })
  )
}

interface Deps extends RowDeps {
  readonly metering: Effect.Success<typeof makeMetering>
  /** For batches that are answered as a whole. */
  readonly whole: RowHooks
}

/**
 * The most rows that run at once in the process, of batches that are answered as a whole (R20). The time of a row passes
 * while it runs, and it takes 40 kB: of 25,000 rows at once most would end late, and take a gigabyte.
 */
const maxRunningRows = 512

/** Streams wait for their readers instead: with room of theirs, those who do not read could keep it from others. */
const makeHooksOfWhole = Effect.map(
  Semaphore.make(maxRunningRows),
  (room): RowHooks => ({
    admit: (workers, count) => room.withPermits(count)(workers),
    beforeStart: Effect.void,
    onDone: () => Effect.void
  })
)

/** Takes a credit for each of so many searches, or has the answer of the first request with the same key. */
type Reserve<E> = (searches: number) => Effect.Effect<OpenHold | Replay, E>

const reserveKeyed = (
  { metering }: Deps,
  principal: AccountPrincipal,
  rows: BulkRows,
  key: string
): Reserve<QuotaExceeded | KeyError> => {
  const request = keyedRequest("bulk", key, rows)
  return (searches) => metering.reserveKeyed(principal, searches, request)
}

/** Runs a batch from reservation to settlement. Only the rows can be interrupted, so that every hold is settled. */
const runBatch = Effect.fnUntraced(function* <E>(
  deps: Deps,
  batch: Batch,
  reserve: Reserve<E>
): Effect.fn.Return<BulkSettlement, E> {
  if (batch.waiting.length === 0) return yield* answerWithoutSearch(deps, batch)
  const arrivedAt = yield* Clock.currentTimeMillis
  const hold = yield* reserve(batch.waiting.length)
  const reservedAt = yield* Clock.currentTimeMillis
  if ("text" in hold) {
    const timings = { reserveMs: reservedAt - arrivedAt, settleMs: 0 }
    return { body: replay(batch, restoreBatch(hold.text)), receipt: hold.receipt, timings }
  }
  yield* runRows(deps, batch, deps.whole)
  const endedAt = yield* Clock.currentTimeMillis
  const body = yield* buildBody(deps, batch, endedAt)
  const entries = batch.rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  const receipt = yield* hold.settle(entries, () => keepBatch(body))
  const settleMs = (yield* Clock.currentTimeMillis) - endedAt
  return { body, receipt, timings: { reserveMs: reservedAt - arrivedAt, settleMs } }
}, Effect.uninterruptible)

/** Answers a batch without a valid row, which costs nothing and needs no credits (R18). */
const answerWithoutSearch = Effect.fnUntraced(function* (deps: Deps, batch: Batch) {
  const body = yield* buildBody(deps, batch, yield* Clock.currentTimeMillis)
  const receipt = yield* deps.metering.emptyReceipt(batch.principal)
  return { body, receipt, timings: { reserveMs: 0, settleMs: 0 } }
})

/** Builds the body of the answer, and makes the log entry of each dispatched row. */
const buildBody = Effect.fnUntraced(function* (deps: Deps, batch: Batch, nowMs: number) {
  const results: Array<RowBody> = []
  for (const row of batch.rows) results.push(yield* endRow(deps, batch, row, nowMs))
  return yield* bodyOf(batch, results)
})

/** The body of a batch with its results, which are measured and traced here. */
const bodyOf = Effect.fnUntraced(function* (batch: Batch, results: ReadonlyArray<RowBody>) {
  yield* countRows(batch, results)
  yield* traceRows(batch, results)
  return toBody(batch.id, results)
})

const toBody = (id: string, results: ReadonlyArray<RowBody>): BulkBody => {
  const succeeded = results.filter(({ status }) => status === "ok").length
  return { batch_id: id, total: results.length, succeeded, failed: results.length - succeeded, results }
}

/** The first answer of a keyed batch, for the key that repeats it (R44). */
const replay = ({ rows }: Batch, first: BulkBody): BulkBody =>
  toBody(
    first.batch_id,
    rows.flatMap((row, index) => {
      const kept = first.results[index]
      return kept === undefined ? [] : [replayRow(row, kept)]
    })
  )

/** Reserves the credits of a batch. One without a valid row needs none (R18). */
const open = ({ metering }: Deps, { principal, waiting }: Batch): Effect.Effect<OpenHold, QuotaExceeded> =>
  waiting.length > 0
    ? metering.reserve(principal, waiting.length)
    : Effect.map(metering.emptyReceipt(principal), (receipt) => ({
        before: receipt.before,
        settlePart: () => Effect.void,
        settle: () => Effect.succeed(receipt)
      }))

/** Runs a batch that is streamed, from reservation to summary. Only the rows can be interrupted. */
const streamBatch = Effect.fnUntraced(
  function* (
    deps: Deps,
    batch: Batch,
    lines: BatchLines,
    reserved: Deferred.Deferred<Allowance | undefined, QuotaExceeded>
  ): Effect.fn.Return<BulkSettlement, QuotaExceeded> {
    const arrivedAt = yield* Clock.currentTimeMillis
    const hold = yield* open(deps, batch)
    const reservedAt = yield* Clock.currentTimeMillis
    yield* Deferred.succeed(reserved, hold.before)
    lines.add({ type: "batch", batch_id: batch.id, total: batch.rows.length })
    const results = yield* streamRows(deps, batch, hold, lines)
    const endedAt = yield* Clock.currentTimeMillis
    const receipt = yield* hold.settle([])
    const settleMs = (yield* Clock.currentTimeMillis) - endedAt
    const body = yield* bodyOf(batch, results)
    const { results: _, ...counts } = body
    lines.add({ type: "summary", ...counts, credits_used: receipt.creditsUsed })
    return { body, receipt, timings: { reserveMs: reservedAt - arrivedAt, settleMs } }
  },
  (streamed, _deps, batch, lines, reserved) =>
    Effect.onExit(streamed, (exit) => {
      lines.end()
      if (Exit.isSuccess(exit)) return Effect.void
      return Effect.flatMap(Deferred.failCause(reserved, exit.cause), (isUnreserved) =>
        isUnreserved ? Effect.void : Effect.logError(`Batch ${batch.id} ended without its summary`, exit.cause)
      )
    }),
  Effect.uninterruptible
)

/** Runs the rows, and settles and hands over each when it has ended. Returns when all are handed over. */
const streamRows = Effect.fnUntraced(function* (deps: Deps, batch: Batch, hold: OpenHold, lines: BatchLines) {
  const results: Array<RowBody> = []
  const closing = new Set<Row>()
  const allClosed = Latch.makeUnsafe(false)
  let open = batch.rows.length
  const finish = (row: Row) =>
    Effect.map(settleRow(deps, batch, row, hold), (body) => {
      results[row.index] = body
      lines.add({ type: "row", index: row.index, body })
      open--
      if (open === 0) allClosed.openUnsafe()
    })
  // In a fiber of its own, so that a worker takes its next row while the last one is settled. The batch waits for it, and
  // a scope would refuse it while the process shuts down.
  const close = (row: Row) =>
    Effect.suspend(() => {
      if (closing.has(row)) return Effect.void
      closing.add(row)
      return Effect.forkDetach(Effect.uninterruptible(finish(row)), { startImmediately: true })
    })
  yield* Effect.forEach(batch.rows, (row) => (row.state._tag === "rejected" ? close(row) : Effect.void))
  yield* runRows(deps, batch, { admit: identity, beforeStart: lines.room, onDone: close })
  yield* Effect.forEach(batch.rows, close)
  yield* allClosed.await
  return results
})

/** Settles a row that has ended. One that could not be settled is not charged, and has no answer. */
const settleRow = Effect.fnUntraced(function* (deps: Deps, batch: Batch, row: Row, hold: OpenHold) {
  const body = yield* endRow(deps, batch, row, yield* Clock.currentTimeMillis)
  if (row.entry === undefined) return body
  const settlement = hold.settlePart(row.entry)
  const exit = yield* Effect.exit(
    row.span === undefined ? settlement : Effect.provideService(settlement, Tracer.ParentSpan, row.span)
  )
  if (Exit.isSuccess(exit)) return body
  yield* Effect.logError("Row could not be settled", exit.cause)
  row.entry = undefined
  return errorRow(internalError)
})
