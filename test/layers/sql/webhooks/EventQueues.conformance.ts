import { assert, type Vitest } from "@effect/vitest"
import { Cause, Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import * as EventBooksSql from "../../../../src/layers/sql/webhooks/EventBooksSql.ts"
import type { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../../src/services/Ids.ts"
import { singleKeyring } from "../../../../src/services/operations/Keyrings.ts"
import type { StoreClock } from "../../../../src/services/StoreClock.ts"
import { EventBooks, maxQueued } from "../../../../src/services/webhooks/EventBooks.ts"
import { makeAccount } from "../../../support/api/searches.ts"

const secret = Redacted.make(`whsec_${Buffer.alloc(32, 7).toString("base64")}`)
const slots = { working: 96, failing: 32, perEndpoint: 4 }
const leaseMs = 60_000

const replica = Effect.map(
  Layer.build(
    EventBooksSql.layer({ keyring: singleKeyring(Redacted.make("an auth secret, of 32 characters or more")) })
  ),
  (context) => Context.get(context, EventBooks)
)

/** An account with so many endpoints. */
const accountWith = Effect.fnUntraced(function* (books: EventBooks["Service"], endpoints: number) {
  const account = yield* makeAccount({ plan: "custom", quota: 10, concurrency: 5, cycleStart: 0 })
  const ids = yield* Ids
  const add = Effect.flatMap(ids.make("whk_"), (id) =>
    books.addEndpoint(account.id, { id, url: "https://example.com/", types: [], secret })
  )
  return { account, endpoints: yield* Effect.forEach(Array.from({ length: endpoints }), () => add) }
})

/** Adds so many deliveries that are due, of an event that happened some time ago. */
const fill = Effect.fnUntraced(function* (account: Account, endpointId: string, count: number, ageMs = 0) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    with event as (
      insert into events (id, account_id, type, cause, data, created_at)
      values ('evt_' || gen_random_uuid(), ${account.id}, 'webhook.test', gen_random_uuid(), '{}',
        clock_timestamp() - ${ageMs}::integer * interval '1 millisecond') returning id, created_at
    )
    insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
    select 'dlv_' || gen_random_uuid(), event.id, ${account.id}, ${endpointId}, 'pending', to_timestamp(0), created_at
    from event, generate_series(1, ${count}::integer)`
})

/** Ends the deliveries that other tests have left. */
const endAll = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`update event_deliveries set status = 'failed', is_taken = false where status = 'pending'`
)

const queues = (it: Vitest.MethodsNonLive<SqlClient.SqlClient | Accounts | Ids | Ledger | StoreClock>): void => {
  it.effect("R53: an event that was being written while the address changed is not sent to the new address", () =>
    Effect.gen(function* () {
      const books = yield* replica
      const { account, endpoints } = yield* accountWith(books, 1)
      const id = endpoints[0]?.id ?? ""
      yield* endAll
      yield* books.changeEndpoint(account.id, id, { url: "https://victim.example/" })
      // Its transaction began before the change, and ends after it.
      yield* fill(account, id, 1, 3_600_000)
      yield* fill(account, id, 1)
      assert.lengthOf(yield* books.take(slots, leaseMs), 1)
      const { deliveries } = yield* books.deliveries(account.id, id, { after: undefined, limit: 10 })
      assert.sameMembers(
        deliveries.map(({ error }) => error),
        [undefined, "the webhook's address was changed"]
      )
    })
  )

  it.effect("R53: a webhook for which 10,000 deliveries wait gets no more, and others of the account do", () =>
    Effect.gen(function* () {
      const books = yield* replica
      const { account, endpoints } = yield* accountWith(books, 2)
      const [full, free] = endpoints.map(({ id }) => id)
      if (full === undefined || free === undefined) return assert.fail("there are no endpoints")
      yield* fill(account, full, maxQueued - 1)
      yield* books.addTest(account.id, full)
      yield* (yield* Ledger).grant(account.id, 5, "thanks")
      const refused = yield* Effect.flip(books.addTest(account.id, full))
      assert.strictEqual(refused._tag, "invalid_request")
      const queued = Effect.map(books.queues(account.id), ({ webhooks }) =>
        Object.fromEntries(webhooks.map(({ endpoint, queued }) => [endpoint.id, queued]))
      )
      assert.deepStrictEqual(yield* queued, { [full]: maxQueued, [free]: 1 })
      const dropped = yield* books.collectDropped(10_000)
      assert.deepStrictEqual(
        dropped.filter(({ accountId }) => accountId === account.id),
        [{ accountId: account.id, endpointId: full, reason: "too_many", deliveries: 1 }]
      )
      assert.strictEqual(yield* books.drop(account.id, full), maxQueued)
      yield* books.addTest(account.id, full)
      assert.deepStrictEqual(yield* queued, { [full]: 1, [free]: 1 })
    })
  )
}

const turns = (
  it: Vitest.MethodsNonLive<SqlClient.SqlClient | Accounts | Ids | Ledger | StoreClock>,
  due: number
): void => {
  it.effect("R53: five replicas that take at the same time give an account no more than its share", () =>
    Effect.gen(function* () {
      const replicas = yield* Effect.all(Array.from({ length: 5 }, () => replica))
      const [books] = replicas
      if (books === undefined) return assert.fail("there is no replica")
      yield* endAll
      const { account, endpoints } = yield* accountWith(books, 10)
      for (const { id } of endpoints) yield* fill(account, id, 50)
      const taken = yield* Effect.forEach(
        Array.from({ length: 40 }),
        (_, n) => (replicas[n % replicas.length] ?? books).take(slots, leaseMs),
        { concurrency: 5 }
      )
      const counts = new Map<string, number>()
      for (const { receiver } of taken.flat()) {
        const id = receiver._tag === "endpoint" ? receiver.id : "email"
        counts.set(id, (counts.get(id) ?? 0) + 1)
      }
      // A quarter of the slots that each of them has free.
      assert.strictEqual(taken.flat().length, slots.working / 4)
      assert.isAtMost(Math.max(...counts.values()), slots.perEndpoint)
    })
  )

  it.effect("R53: accounts that wait for the same slot get it one after the other", () =>
    Effect.gen(function* () {
      const books = yield* replica
      yield* endAll
      const made = yield* Effect.forEach(Array.from({ length: 12 }), () => accountWith(books, 1))
      for (const { account, endpoints } of made) yield* fill(account, endpoints[0]?.id ?? "", 5)
      const served: Array<string> = []
      for (let n = 0; n < made.length * 3; n++) {
        for (const taken of yield* books.take({ working: 1, failing: 0, perEndpoint: 4 }, leaseMs)) {
          served.push(taken.event.accountId)
          yield* books.finish(taken, { durationMs: 1, httpStatus: 204, failure: undefined })
        }
        // A turn without a free slot changes nothing about whose turn it is.
        yield* books.take({ working: 0, failing: 1, perEndpoint: 4 }, leaseMs)
      }
      for (let round = 0; round < 3; round++) {
        const inRound = served.slice(round * made.length, (round + 1) * made.length)
        assert.strictEqual(new Set(inRound).size, made.length)
      }
    })
  )

  it.effect("R53: more queues than one turn looks at are all served", () =>
    Effect.gen(function* () {
      const books = yield* replica
      const sql = yield* SqlClient.SqlClient
      yield* endAll
      const { account, endpoints } = yield* accountWith(books, 1)
      // Endpoints of one account, more than it may have, because accounts take longer to make. None of these is due.
      yield* sql`
        insert into webhook_endpoints (id, account_id, url, types, secret, secret_key, created_at)
        select 'whk_0' || lpad(n::text, 4, '0'), ${account.id}, url, types, secret, secret_key, created_at
        from webhook_endpoints, generate_series(1, 1200) as n where id = ${endpoints[0]?.id ?? ""}`
      const later = new Date((yield* Clock.currentTimeMillis) + 3_600_000)
      const event = yield* sql<{ readonly id: string }>`
        insert into events (id, account_id, type, cause, data, created_at)
        values ('evt_' || gen_random_uuid(), ${account.id}, 'webhook.test', gen_random_uuid(), '{}', clock_timestamp())
        returning id`
      yield* sql`
        insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
        select 'dlv_' || gen_random_uuid(), ${event[0]?.id ?? ""}, account_id, id, 'pending', ${later}, clock_timestamp()
        from webhook_endpoints where account_id = ${account.id} and id like 'whk\\_0%'`
      const last = yield* sql<{ readonly id: string }>`
        select id from webhook_endpoints where account_id = ${account.id} order by id desc limit 1`
      yield* fill(account, last[0]?.id ?? "", 1)
      let count = 0
      for (let n = 0; n < 4; n++) count += (yield* books.take(slots, leaseMs)).length
      assert.strictEqual(count, 1)
    })
  )

  it.effect(`R53: a turn reads less than 1,000 rows while ${due} deliveries of one account are due`, () =>
    Effect.gen(function* () {
      const books = yield* replica
      const sql = yield* SqlClient.SqlClient
      yield* endAll
      // Entries of rows that are gone would be counted too.
      yield* sql`vacuum event_deliveries`
      const { account, endpoints } = yield* accountWith(books, 10)
      for (const { id } of endpoints) yield* fill(account, id, due / endpoints.length)
      const other = yield* accountWith(books, 1)
      yield* fill(other.account, other.endpoints[0]?.id ?? "", 1)
      /** Rows and entries of indexes of `event_deliveries` that the transaction has read. */
      const read = Effect.map(
        sql<{ readonly rows: number }>`
          select (coalesce(pg_stat_get_xact_tuples_returned('event_deliveries'::regclass), 0) + (
            select coalesce(sum(pg_stat_get_xact_tuples_returned(indexrelid)), 0) from pg_index
            where indrelid = 'event_deliveries'::regclass
          ))::int as rows`,
        ([row]) => row?.rows ?? Number.NaN
      )
      const cost = (effect: Effect.Effect<unknown>) =>
        sql.withTransaction(
          Effect.gen(function* () {
            const before = yield* read
            yield* effect
            return (yield* read) - before
          })
        )
      for (const isAnalyzed of [false, true]) {
        if (isAnalyzed) yield* sql`analyze event_deliveries`
        assert.isBelow(yield* cost(books.take(slots, leaseMs)), 1_000)
      }
      const { deliveries } = yield* books.deliveries(other.account.id, other.endpoints[0]?.id ?? "", {
        after: undefined,
        limit: 1
      })
      assert.strictEqual(deliveries[0]?.attempts, 1)
      assert.strictEqual(yield* books.drop(account.id, undefined), due)
    })
  )
}

/** The queues of accounts, and the turns that replicas take at them, by the database alone. */
export const eventQueuesConformance = (
  it: Vitest.MethodsNonLive<SqlClient.SqlClient | Accounts | Ids | Ledger | StoreClock>,
  options: {
    /** Due deliveries of one account beside which a turn must stay cheap. */
    readonly due: number
  }
): void => {
  queues(it)
  turns(it, options.due)
}

/** Turns of replicas at the same time. Needs a connection for each, which the embedded store does not have. */
export const concurrentTurns = (
  it: Vitest.MethodsNonLive<SqlClient.SqlClient | Accounts | Ids | Ledger | StoreClock>
): void => {
  it.effect("R53: a turn skips the accounts whose slots another replica is sharing at that moment", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const books = yield* replica
      yield* endAll
      const [locked, free] = [yield* accountWith(books, 1), yield* accountWith(books, 1)]
      for (const { account, endpoints } of [locked, free]) yield* fill(account, endpoints[0]?.id ?? "", 2)
      const takenAccounts = Effect.map(books.take(slots, leaseMs), (taken) => taken.map(({ event }) => event.accountId))
      const [sharing, others] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const other = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`select pg_advisory_xact_lock(hashtext('event_deliveries'), hashtext(${locked.account.id}))`
            yield* Deferred.succeed(sharing, undefined)
            yield* Deferred.await(others)
          })
        )
      )
      yield* Deferred.await(sharing)
      assert.deepStrictEqual(yield* takenAccounts, [free.account.id, free.account.id])
      yield* Deferred.succeed(others, undefined)
      yield* Fiber.join(other)
      assert.deepStrictEqual(yield* takenAccounts, [locked.account.id, locked.account.id])
    })
  )

  it.effect("R53: a webhook is removed while an attempt at it ends, which locks the same rows in another order", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const books = yield* replica
      const { account, endpoints } = yield* accountWith(books, 1)
      const id = endpoints[0]?.id ?? ""
      yield* fill(account, id, 1)
      /** True while another transaction waits for this one. */
      const isAwaited = Effect.map(
        sql`select from pg_locks where transactionid = pg_current_xact_id()::xid and not granted`,
        (rows) => rows.length > 0
      )
      const isLocked = yield* Deferred.make<void>()
      const removal = yield* Effect.forkChild(
        Effect.andThen(Deferred.await(isLocked), books.removeEndpoint(account.id, id))
      )
      yield* sql.withTransaction(
        Effect.gen(function* () {
          // The removal notices the deadlock first, and fails.
          yield* sql`set local deadlock_timeout = '1 min'`
          yield* sql`update event_deliveries set attempts = attempts + 1 where endpoint_id = ${id}`
          yield* Deferred.succeed(isLocked, undefined)
          while (!(yield* isAwaited)) yield* sql`select pg_sleep(0.01)`
          yield* sql`update webhook_endpoints set failing_since = now() where id = ${id}`
        })
      )
      yield* Fiber.join(removal)
      assert.lengthOf(yield* books.endpoints(account.id), 0)
    }).pipe(TestClock.withLive)
  )

  it.effect("R53: a test of a webhook that is removed meanwhile finds no webhook, or is removed with it", () =>
    Effect.gen(function* () {
      const books = yield* replica
      const { account, endpoints } = yield* accountWith(books, 8)
      for (const { id } of endpoints) {
        const tests = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 20 }), () => Effect.exit(books.addTest(account.id, id)), {
            concurrency: 4
          })
        )
        yield* books.removeEndpoint(account.id, id)
        for (const exit of yield* Fiber.join(tests)) {
          if (Exit.isFailure(exit)) assert.isFalse(Cause.hasDies(exit.cause), Cause.pretty(exit.cause))
        }
      }
    })
  )
}
