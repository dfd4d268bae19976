import { Clock, Deferred, Effect, Exit, Fiber, identity, Latch, type Scope, Semaphore, Tracer } from "effect"
import type { AccountPrincipal, Principal } from "../../domain/accounts/Principal.ts"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import { internalError } from "../../domain/errors.ts"
import type { BatchBody, BatchLineBody } from "../../domain/search/BulkResult.ts"
import type { ReserveError } from "../credits/Ledger.ts"
import {
  type LedgerTimings,
  makeMetering,
  type OpenHold,
  type Receipt,
  type Replay,
  recordCharge
} from "../credits/Metering.ts"
import { Ids } from "../Ids.ts"
import { Limits } from "../providers/Limits.ts"
import { addFields, forkRecorded } from "../telemetry/CurrentRecord.ts"
import { countRows, traceRows } from "../telemetry/RowTelemetry.ts"
import { withSpan } from "../telemetry/Tracing.ts"
import {
  type AnyRowBody,
  type AskedRows,
  type Batch,
  endRow,
  newBatch,
  type Row,
  type RowDeps,
  type RowHooks,
  type RowKind,
  replayRow,
  runRows
} from "./Batch.ts"
import { BatchLines } from "./BatchLines.ts"
import { keyedRequest, waitForFirst } from "./Idempotency.ts"
import type { KeyError } from "./Singles.ts"

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

/** Batches of one kind: many rows with one hold and one time budget. */
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

export const makeBatches = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(kind: RowKind<Q, D, B>) {
  const deps: Deps<Q, D, B> = {
    metering: yield* makeMetering,
    ids: yield* Ids,
    kind,
    budget: (yield* Limits).bulkBudget,
    scope: yield* Effect.scope,
    whole: yield* bufferedHooks<Q, D>(kind.maxRunning)
  }

  // Runs in its own fiber: interrupting the caller ends only the wait and the start of further rows.
  const start = Effect.fnUntraced(function* <E>(principal: Principal, rows: AskedRows<Q>, reserve: Reserve<E>) {
    const batch = yield* newBatch(deps, principal, rows)
    const settlement = withSpan(
      kind.spanName,
      { attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length } },
      () => runBatch(deps, batch, reserve)
    )
    const fiber = yield* forkRecorded(settlement, deps.scope)
    return yield* Effect.onInterrupt(Fiber.join(fiber), () =>
      Effect.sync(() => {
        batch.isStopped = true
      })
    )
  })

  const stream = Effect.fnUntraced(function* (principal: Principal, rows: AskedRows<Q>) {
    const batch = yield* newBatch(deps, principal, rows)
    const lines = new BatchLines<B>()
    const reserved = yield* Deferred.make<Allowance | undefined, ReserveError>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        batch.isStopped = true
        lines.abandon()
      })
    )
    const settlement = withSpan(
      kind.spanName,
      {
        attributes: { "quarry.batch.id": batch.id, "quarry.batch.size": rows.length, "quarry.batch.stream": true }
      },
      () => streamBatch(deps, batch, lines, reserved)
    )
    yield* forkRecorded(settlement, deps.scope)
    const before = yield* Deferred.await(reserved)
    return { before, take: lines.take }
  })

  const batches: Batches<Q, B> = {
    run: (principal, rows) => start(principal, rows, (credits) => deps.metering.reserve(principal, credits)),
    runKeyed: (principal, rows, key) =>
      waitForFirst(deps.budget)(start(principal, rows, reserveKeyed(deps, principal, rows, key))),
    stream
  }
  return batches
})

interface Deps<Q, D, B extends AnyRowBody> extends RowDeps<Q, D, B> {
  readonly metering: Effect.Success<typeof makeMetering>
  /** For batches that respond as a whole. */
  readonly whole: RowHooks<Q, D>
}

/** Streams wait for their readers instead. Without that, clients that stop reading could hold all the capacity. */
const bufferedHooks = <Q, D>(maxRunning: number) =>
  Effect.map(
    Semaphore.make(maxRunning),
    (room): RowHooks<Q, D> => ({
      admit: (workers, count) => room.withPermits(count)(workers),
      beforeStart: Effect.void,
      onDone: () => Effect.void
    })
  )

/** Returns the first response if the key was used before. */
type Reserve<E> = (searches: number) => Effect.Effect<OpenHold | Replay, E>

const reserveKeyed = <Q, D, B extends AnyRowBody>(
  { kind, metering }: Deps<Q, D, B>,
  principal: AccountPrincipal,
  rows: AskedRows<Q>,
  key: string
): Reserve<ReserveError | KeyError> => {
  const request = keyedRequest(kind.route, key, rows)
  return (searches) => metering.reserveKeyed(principal, searches, request)
}

/** Only the rows can be interrupted, so that every hold is settled. */
const runBatch = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody, E>(
  deps: Deps<Q, D, B>,
  batch: Batch<Q, D>,
  reserve: Reserve<E>
): Effect.fn.Return<BatchSettlement<B>, E | ReserveError> {
  yield* recordStart(batch)
  if (batch.waiting.length === 0) return yield* answerWithoutSearch(deps, batch)
  const arrivedAt = yield* Clock.currentTimeMillis
  const hold = yield* reserve(batch.waiting.length)
  const reserveMs = (yield* Clock.currentTimeMillis) - arrivedAt
  if ("text" in hold) {
    const body = replay(deps.kind, batch, deps.kind.restore(hold.text))
    return yield* recorded({ body, receipt: hold.receipt }, { reserveMs, settleMs: 0 })
  }
  yield* runRows(deps, batch, deps.whole)
  const endedAt = yield* Clock.currentTimeMillis
  const body = yield* buildBody(deps, batch, endedAt)
  const entries = batch.rows.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  const receipt = yield* hold.settle(entries, () => deps.kind.keep(body))
  return yield* recorded({ body, receipt }, { reserveMs, settleMs: (yield* Clock.currentTimeMillis) - endedAt })
}, Effect.uninterruptible)

const recordStart = <Q, D>({ id, rows }: Batch<Q, D>): Effect.Effect<void> =>
  addFields({ batch_id: id, rows: rows.length })

/** Adds the batch to the request's record. A replay has the ID of the first batch. */
const recorded = <B>(settlement: BatchSettlement<B>, timings: LedgerTimings): Effect.Effect<BatchSettlement<B>> => {
  const { body, receipt } = settlement
  return Effect.as(recordCharge(receipt, timings, { batch_id: body.batch_id, rows_failed: body.failed }), settlement)
}

/** A batch without valid rows costs nothing and needs no credits (R18). */
const answerWithoutSearch = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: Deps<Q, D, B>,
  batch: Batch<Q, D>
) {
  const body = yield* buildBody(deps, batch, yield* Clock.currentTimeMillis)
  const receipt = yield* deps.metering.emptyReceipt(batch.principal)
  return yield* recorded({ body, receipt }, { reserveMs: 0, settleMs: 0 })
})

const buildBody = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: Deps<Q, D, B>,
  batch: Batch<Q, D>,
  nowMs: number
) {
  const results: Array<B> = []
  for (const row of batch.rows) results.push(yield* endRow(deps, batch, row, nowMs))
  return yield* bodyOf(deps.kind, batch, results)
})

const bodyOf = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  kind: RowKind<Q, D, B>,
  batch: Batch<Q, D>,
  results: ReadonlyArray<B>
) {
  yield* countRows(kind, batch, results)
  yield* traceRows(kind, batch, results)
  return toBody(batch.id, results)
})

const toBody = <B extends AnyRowBody>(id: string, results: ReadonlyArray<B>): BatchBody<B> => {
  const succeeded = results.filter(({ status }) => status === "ok").length
  return { batch_id: id, total: results.length, succeeded, failed: results.length - succeeded, results }
}

const replay = <Q, D, B extends AnyRowBody>(
  kind: RowKind<Q, D, B>,
  { rows }: Batch<Q, D>,
  first: BatchBody<B>
): BatchBody<B> =>
  toBody(
    first.batch_id,
    rows.flatMap((row, index) => {
      const kept = first.results[index]
      return kept === undefined ? [] : [replayRow(kind, row, kept)]
    })
  )

/** A batch without valid rows needs no credits (R18). */
const open = <Q, D, B extends AnyRowBody>(
  { metering }: Deps<Q, D, B>,
  { principal, waiting }: Batch<Q, D>
): Effect.Effect<OpenHold, ReserveError> =>
  waiting.length > 0
    ? metering.reserve(principal, waiting.length)
    : Effect.map(metering.emptyReceipt(principal), (receipt) => ({
        before: receipt.before,
        settlePart: () => Effect.void,
        settle: () => Effect.succeed(receipt)
      }))

const streamBatch = Effect.fnUntraced(
  function* <Q, D, B extends AnyRowBody>(
    deps: Deps<Q, D, B>,
    batch: Batch<Q, D>,
    lines: BatchLines<B>,
    reserved: Deferred.Deferred<Allowance | undefined, ReserveError>
  ): Effect.fn.Return<BatchSettlement<B>, ReserveError> {
    yield* recordStart(batch)
    const arrivedAt = yield* Clock.currentTimeMillis
    const hold = yield* open(deps, batch)
    const reserveMs = (yield* Clock.currentTimeMillis) - arrivedAt
    yield* Deferred.succeed(reserved, hold.before)
    lines.add({ type: "batch", batch_id: batch.id, total: batch.rows.length })
    const results = yield* streamRows(deps, batch, hold, lines)
    const endedAt = yield* Clock.currentTimeMillis
    const receipt = yield* hold.settle([])
    const settleMs = (yield* Clock.currentTimeMillis) - endedAt
    const body = yield* bodyOf(deps.kind, batch, results)
    const { results: _, ...counts } = body
    lines.add({ type: "summary", ...counts, credits_used: receipt.creditsUsed })
    return yield* recorded({ body, receipt }, { reserveMs, settleMs })
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
const streamRows = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: Deps<Q, D, B>,
  batch: Batch<Q, D>,
  hold: OpenHold,
  lines: BatchLines<B>
) {
  const results: Array<B> = []
  const closing = new Set<Row<Q, D>>()
  const allClosed = Latch.makeUnsafe(false)
  let open = batch.rows.length
  const finish = (row: Row<Q, D>) =>
    Effect.map(settleRow(deps, batch, row, hold), (body) => {
      results[row.index] = body
      lines.add({ type: "row", index: row.index, body })
      open--
      if (open === 0) allClosed.openUnsafe()
    })
  // Settles in its own fiber, so that the worker can continue with its next row. Detached, because a scope would reject
  // it during shutdown; the batch waits for it.
  const close = (row: Row<Q, D>) =>
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
const settleRow = Effect.fnUntraced(function* <Q, D, B extends AnyRowBody>(
  deps: Deps<Q, D, B>,
  batch: Batch<Q, D>,
  row: Row<Q, D>,
  hold: OpenHold
) {
  const body = yield* endRow(deps, batch, row, yield* Clock.currentTimeMillis)
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
