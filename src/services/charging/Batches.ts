import { Deferred, Effect, Exit, Fiber, identity, Latch, type Scope, Semaphore, Tracer } from "effect"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import { internalError } from "../../domain/errors.ts"
import type { BatchBody, BatchLineBody } from "../../domain/search/BulkResult.ts"
import type { KeyedRequest, ReserveError } from "../credits/Ledger.ts"
import { Ids } from "../Ids.ts"
import { Limits } from "../providers/Limits.ts"
import { addFields, forkRecorded } from "../telemetry/recording.ts"
import { withSpan } from "../telemetry/Tracing.ts"
import {
  type AnyRowBody,
  type AskedRows,
  type Batch,
  type BatchKind,
  endRow,
  makeBatch,
  type Row,
  type RowDeps,
  type RowHooks,
  type Rows,
  replayRow,
  runRows
} from "./Batch.ts"
import { BatchLines } from "./BatchLines.ts"
import { type KeyError, waitForFirst } from "./Idempotency.ts"
import { makeMetering, type OpenHold, type Receipt, type Reserve } from "./Metering.ts"
import { countRows, traceRows } from "./RowTelemetry.ts"

export interface BatchSettlement<B> {
  readonly body: BatchBody<B>
  readonly receipt: Receipt
}

/** A batch whose rows are sent as they are settled. */
export interface StreamedBatch<B> {
  /** The allowance before the batch; undefined if no account pays. */
  readonly before: Allowance | undefined
  /** Waits for lines and returns all available ones; none at the end of the batch. Supports one reader. */
  readonly take: Effect.Effect<ReadonlyArray<BatchLineBody<B>>>
}

/** A service for many rows with one hold and one time budget. */
export interface Batches<Q, B> {
  /**
   * Reserves a credit per valid row, runs the rows concurrently and settles once. Dispatched rows are logged and
   * charged; the rest of the hold is returned. If the caller is interrupted, only rows that have not started are
   * stopped (R21).
   */
  readonly run: (principal: Principal, rows: AskedRows<Q>) => Effect.Effect<BatchSettlement<B>, ReserveError>
  /**
   * `run` for a request with an idempotency key (R44): a charged batch is replayed for free. While the first request is
   * running, it waits for up to the budget of a batch.
   */
  readonly runKeyed: (
    principal: AccountPrincipal,
    rows: AskedRows<Q>,
    key: string
  ) => Effect.Effect<BatchSettlement<B>, ReserveError | KeyError>
  /**
   * `run` row by row (R46): each row is settled before its line can be read. Returns once the credits are reserved. No
   * row starts while the reader has lines to write. Closing the scope stops rows that have not started (R21).
   */
  readonly stream: (
    principal: Principal,
    rows: AskedRows<Q>
  ) => Effect.Effect<StreamedBatch<B>, ReserveError, Scope.Scope>
}

/** Runs rows, as `Batches` describes it. */
export const makeBatches = Effect.fnUntraced(function* <B extends AnyRowBody>(kind: BatchKind<B>) {
  const metering = yield* makeMetering
  const ids = yield* Ids
  const deps: Deps<B> = {
    metering,
    ids,
    kind,
    budget: (yield* Limits).bulkBudget,
    scope: yield* Effect.scope,
    buffered: yield* bufferedHooks<B>(kind.maxRunning)
  }

  // The batch runs in its own fiber: interrupting the caller ends only the wait and the start of further rows.
  const fork = <A, E>(batch: Batch<B>, isStreamed: boolean, settlement: Effect.Effect<A, E>) => {
    const attributes = { "quarry.batch.id": batch.id, "quarry.batch.size": batch.rows.length }
    const options = { attributes: isStreamed ? { ...attributes, "quarry.batch.stream": true } : attributes }
    return forkRecorded(
      withSpan(kind.spanName, options, () => settlement),
      deps.scope
    )
  }

  const start = Effect.fnUntraced(function* <E>(principal: Principal, rows: Rows<B>, reserve: Reserve<E>) {
    const batch = makeBatch(yield* ids.make("bat_"), principal, rows)
    const fiber = yield* fork(batch, false, runBatch(deps, batch, reserve))
    return yield* Effect.onInterrupt(Fiber.join(fiber), () =>
      Effect.sync(() => {
        batch.isStopped = true
      })
    )
  })

  return {
    run: (principal: Principal, rows: Rows<B>) =>
      start(principal, rows, (credits) => metering.reserve(principal, credits)),

    runKeyed: (principal: AccountPrincipal, rows: Rows<B>, request: KeyedRequest) =>
      waitForFirst(deps.budget)(
        start(principal, rows, (credits) => metering.reserveKeyed(principal, credits, request))
      ),

    stream: Effect.fnUntraced(function* (principal: Principal, rows: Rows<B>) {
      const batch = makeBatch(yield* ids.make("bat_"), principal, rows)
      const lines = new BatchLines<B>()
      const reserved = yield* Deferred.make<Allowance | undefined, ReserveError>()
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          batch.isStopped = true
          lines.abandon()
        })
      )
      yield* fork(batch, true, streamBatch(deps, batch, lines, reserved))
      const before = yield* Deferred.await(reserved)
      return { before, take: lines.take }
    })
  }
})

interface Deps<B extends AnyRowBody> extends RowDeps<B> {
  readonly metering: Effect.Success<typeof makeMetering>
  /** For batches that respond as a whole. */
  readonly buffered: RowHooks<B>
}

/** Streams wait for their readers instead. Without that, clients that stop reading could hold all the capacity. */
const bufferedHooks = <B>(maxRunning: number) =>
  Effect.map(
    Semaphore.make(maxRunning),
    (room): RowHooks<B> => ({
      admit: (rows, count) => room.withPermits(count)(rows),
      beforeStart: Effect.void,
      onDone: () => Effect.void
    })
  )

/** Only the rows can be interrupted, so that every hold is settled. A batch without valid rows needs no credits (R18). */
const runBatch = Effect.fnUntraced(function* <B extends AnyRowBody, E>(
  deps: Deps<B>,
  batch: Batch<B>,
  reserve: Reserve<E>
): Effect.fn.Return<BatchSettlement<B>, E> {
  yield* recordStart(batch)
  const hold = yield* reserve(batch.valid.length)
  if ("text" in hold) {
    const body = replay(deps.kind, batch, deps.kind.restore(hold.text))
    return yield* recorded({ body, receipt: hold.receipt })
  }
  yield* runRows(deps, batch, deps.buffered)
  const body = yield* buildBody(deps, batch)
  const entries = batch.rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  const receipt = yield* hold.settle(entries, () => deps.kind.keep(body))
  return yield* recorded({ body, receipt })
}, Effect.uninterruptible)

const recordStart = <B>({ id, rows }: Batch<B>): Effect.Effect<void> => addFields({ batch_id: id, rows: rows.length })

/** Adds the batch to the request's record. A replay has the ID of the first batch. */
const recorded = <B>(settlement: BatchSettlement<B>): Effect.Effect<BatchSettlement<B>> => {
  const { batch_id, failed } = settlement.body
  return Effect.as(addFields({ batch_id, rows_failed: failed }), settlement)
}

const buildBody = Effect.fnUntraced(function* <B extends AnyRowBody>(deps: Deps<B>, batch: Batch<B>) {
  const results: Array<B> = []
  for (const row of batch.rows) results.push(yield* endRow(deps, batch, row))
  return yield* bodyOf(deps.kind, batch, results)
})

const bodyOf = Effect.fnUntraced(function* <B extends AnyRowBody>(
  kind: BatchKind<B>,
  batch: Batch<B>,
  results: ReadonlyArray<B>
) {
  yield* countRows(kind, batch, results)
  yield* traceRows(batch, results)
  return toBody(batch.id, results)
})

const toBody = <B extends AnyRowBody>(id: string, results: ReadonlyArray<B>): BatchBody<B> => {
  const succeeded = results.filter(({ status }) => status === "ok").length
  return { batch_id: id, total: results.length, succeeded, failed: results.length - succeeded, results }
}

const replay = <B extends AnyRowBody>(kind: BatchKind<B>, { rows }: Batch<B>, first: BatchBody<B>): BatchBody<B> =>
  toBody(
    first.batch_id,
    rows.flatMap((row, index) => {
      const kept = first.results[index]
      return kept === undefined ? [] : [replayRow(kind, row, kept)]
    })
  )

const streamBatch = Effect.fnUntraced(
  function* <B extends AnyRowBody>(
    deps: Deps<B>,
    batch: Batch<B>,
    lines: BatchLines<B>,
    reserved: Deferred.Deferred<Allowance | undefined, ReserveError>
  ): Effect.fn.Return<BatchSettlement<B>, ReserveError> {
    yield* recordStart(batch)
    const hold = yield* deps.metering.reserve(batch.principal, batch.valid.length)
    yield* Deferred.succeed(reserved, hold.before)
    lines.add({ type: "batch", batch_id: batch.id, total: batch.rows.length })
    const results = yield* streamRows(deps, batch, hold, lines)
    const receipt = yield* hold.settle([])
    const body = yield* bodyOf(deps.kind, batch, results)
    const { results: _, ...counts } = body
    lines.add({ type: "summary", ...counts, credits_used: receipt.creditsUsed })
    return yield* recorded({ body, receipt })
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

/** Runs the rows, and settles and sends each one when it is done. Returns after the last. */
const streamRows = Effect.fnUntraced(function* <B extends AnyRowBody>(
  deps: Deps<B>,
  batch: Batch<B>,
  hold: OpenHold,
  lines: BatchLines<B>
) {
  const results: Array<B> = []
  const closing = new Set<Row<B>>()
  const allClosed = Latch.makeUnsafe(false)
  let open = batch.rows.length
  const finish = (row: Row<B>) =>
    Effect.map(settleRow(deps, batch, row, hold), (body) => {
      results[row.index] = body
      lines.add({ type: "row", index: row.index, body })
      open--
      if (open === 0) allClosed.openUnsafe()
    })
  // Settles in its own fiber, so that the next row can start. Detached, because a scope would reject
  // it during shutdown; the batch waits for it.
  const close = (row: Row<B>) =>
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

/** If settling fails, the row is not charged and reports an internal error. */
const settleRow = Effect.fnUntraced(function* <B extends AnyRowBody>(
  deps: Deps<B>,
  batch: Batch<B>,
  row: Row<B>,
  hold: OpenHold
) {
  const body = yield* endRow(deps, batch, row)
  if (row.entry === undefined) return body
  const settlement = hold.settlePart(row.entry)
  const exit = yield* Effect.exit(
    row.span === undefined ? settlement : Effect.provideService(settlement, Tracer.ParentSpan, row.span)
  )
  if (Exit.isSuccess(exit)) return body
  yield* Effect.logError("Row could not be settled", exit.cause)
  row.entry = undefined
  return deps.kind.errorRow(internalError)
})
