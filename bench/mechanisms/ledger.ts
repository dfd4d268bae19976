import { randomUUID } from "node:crypto"
import { Array as Arr, Clock, Effect, Exit, Fiber, Latch, Layer, Redacted, Request, RequestResolver } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeGroupCommit } from "../../src/layers/sql/GroupCommit.ts"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import type { Store } from "../../torture/support/Store.ts"
import * as Customers from "../support/Customers.ts"
import * as Stores from "../support/Stores.ts"
import { compare, type LoopOptions } from "./Comparison.ts"

/* Reservations of one credit by concurrent searches, in statements of `ledger_reserve`. */

const callers = 64
const perRound = 2_000
const maxBatch = 256
/** As in `LedgerStatements.ts`. */
const maxPerOwner = 16
const leaseMs = 105_000
/** The default of DATABASE_POOL_SIZE. */
const poolSize = 10

class Reservation extends Request.TaggedClass("Reservation")<
  { readonly accountId: string; readonly holdId: string },
  { readonly status: string },
  SqlError.SqlError
> {}

type Batch = Arr.NonEmptyReadonlyArray<Reservation>

const reserveWith = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (batch: Batch) {
    const now = new Date(yield* Clock.currentTimeMillis)
    return yield* sql<{ readonly status: string }>`
      select * from ledger_reserve(
        ${batch.map((entry) => entry.accountId)}::text[], ${batch.map((entry) => entry.holdId)}::text[],
        ${batch.map(() => 1n)}::bigint[], ${now}::timestamptz, ${leaseMs}::bigint, null::text
      ) order by n`
  })

type Run = ReturnType<typeof reserveWith>
type Submit = (reservation: Reservation) => Effect.Effect<unknown, unknown>

/** Counts calls and statements. */
const counted = (run: Run) => {
  const count = { calls: 0, statements: 0 }
  const counting: Run = (batch) => {
    count.calls += batch.length
    count.statements++
    return run(batch)
  }
  return { run: counting, perStatement: () => (count.calls / count.statements).toFixed(1) }
}

const answer = (run: Run, entries: Arr.NonEmptyArray<Request.Entry<Reservation>>) =>
  Effect.map(run(Arr.map(entries, ({ request }) => request)), (rows) => {
    for (const [index, entry] of entries.entries()) entry.completeUnsafe(Exit.succeed(rows[index] ?? { status: "" }))
  })

/** As the library's documentation shows: a batch is what arrives in one turn of the scheduler. */
const byTurn = (run: Run) =>
  RequestResolver.batchN(
    RequestResolver.make<Reservation>((entries) => answer(run, entries)),
    maxBatch
  )

/** The library's batches with our rule: the next one is collected until the statement before has returned. */
const byStatement = (run: Run) => {
  const idle = Latch.makeUnsafe(true)
  const sending = RequestResolver.make<Reservation>((entries) =>
    Effect.andThen(
      idle.close,
      Effect.ensuring(
        Effect.suspend(() => answer(run, entries)),
        idle.open
      )
    )
  )
  const waiting = RequestResolver.setDelayEffect(sending, Effect.andThen(Effect.yieldNow, idle.await))
  return RequestResolver.batchN(waiting, maxBatch)
}

/** A new period is opened by the first reservation of its account. */
const openPeriods = (store: Store, accountIds: ReadonlyArray<string>) =>
  Effect.forEach(accountIds, (id) =>
    Effect.flatMap(store.accounts.byId(id), (account) => store.ledger.reserve(account, 1))
  )

/** Longer than a reservation, so that searches arrive one by one and not in waves. */
const maxPauseMs = 10

/** A search of each account in turn, after a pause of some milliseconds. */
const eachAccount = (accountIds: ReadonlyArray<string>, submit: Submit) => {
  let next = 0
  return Effect.suspend(() => {
    const accountId = accountIds[next++ % accountIds.length] ?? ""
    const holdId = `hld_${randomUUID().replaceAll("-", "")}`
    // 7 has no factor in common with the longest pause, so neighbors get different ones.
    const pause = 1 + ((next * 7) % maxPauseMs)
    return Effect.andThen(Effect.sleep(pause), submit(new Reservation({ accountId, holdId })))
  })
}

const lockedMs = 5_000

/** Reservations of other accounts, one each millisecond, while another transaction has locked the wallet of one account. */
const whileLocked = Effect.fnUntraced(function* (store: Store, accountIds: ReadonlyArray<string>, submit: Submit) {
  const released = Latch.makeUnsafe(false)
  const lock = store.sql`select from wallets where account_id = ${accountIds[0] ?? ""} for update`
  const holder = yield* Effect.forkChild(store.sql.withTransaction(Effect.andThen(lock, released.await)))
  yield* Effect.sleep(100)
  const [took, fibers] = [[] as Array<number>, [] as Array<Fiber.Fiber<unknown, unknown>>]
  let failed = 0
  const until = performance.now() + lockedMs
  for (let n = 0; performance.now() < until; n++) {
    const accountId = accountIds[n % accountIds.length] ?? ""
    const startedAt = performance.now()
    const call = Effect.map(
      Effect.exit(submit(new Reservation({ accountId, holdId: `hld_${randomUUID().replaceAll("-", "")}` }))),
      (exit) => {
        if (n % accountIds.length === 0) return
        took.push(performance.now() - startedAt)
        if (Exit.isFailure(exit)) failed++
      }
    )
    fibers.push(yield* Effect.forkChild(call))
    yield* Effect.sleep(1)
  }
  yield* released.open
  yield* Fiber.awaitAll([...fibers, holder])
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`
  const overASecond = took.filter((ms) => ms > 1_000).length
  return `${failed} of ${took.length} failed, ${overASecond} took over a second, the slowest ${seconds(Math.max(...took))}`
})

export const comparisons = Effect.gen(function* () {
  const stores = yield* Stores.start
  const databaseUrl = yield* stores.database("quarry_mechanisms")
  const { customers, store } = yield* Effect.orDie(Customers.inQuarry(databaseUrl, callers))
  const accountIds = customers.map(({ accountId }) => accountId)
  yield* Effect.orDie(openPeriods(store, accountIds))
  const context = yield* Effect.orDie(Layer.build(Postgres.layer({ url: Redacted.make(databaseUrl), poolSize })))
  const run = reserveWith(yield* Effect.provideContext(SqlClient.SqlClient, context))
  const options: LoopOptions = { callers, perRound, server: stores.pids.postgres }

  const against = Effect.fnUntraced(function* (
    name: string,
    resolverOf: (run: Run) => RequestResolver.RequestResolver<Reservation>,
    accounts = accountIds
  ) {
    const [ours, library] = [counted(run), counted(run)]
    const submit = yield* makeGroupCommit<Reservation, { readonly status: string }>({
      name: "ledger_reserve",
      run: ours.run,
      ownerOf: ({ accountId }) => accountId,
      maxBatch,
      maxPerOwner
    })
    const resolver = resolverOf(library.run)
    const request = (reservation: Reservation) => Effect.request(reservation, resolver)
    const note = Effect.gen(function* () {
      const sizes = `${ours.perStatement()} calls a statement with ours, ${library.perStatement()} with the library`
      if (accounts.length === 1) return `${name}: ${sizes}`
      const ourEnd = yield* whileLocked(store, accounts, submit)
      const theirEnd = yield* whileLocked(store, accounts, request)
      return `${name}: ${sizes}\nOther accounts while one is locked, ours: ${ourEnd}\nLibrary: ${theirEnd}`
    })
    return compare(name, eachAccount(accounts, submit), eachAccount(accounts, request), { ...options, note })
  })
  return [
    yield* against("a reservation among 64, by RequestResolver", byTurn),
    yield* against("the same, RequestResolver with our rule", byStatement),
    yield* against("64 callers of one account, by RequestResolver", byTurn, accountIds.slice(0, 1))
  ]
})
