import { assert, it, layer } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Layer, type Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import type { Account } from "../../../../src/domain/accounts/Account.ts"
import * as Postgres from "../../../../src/layers/sql/store/Postgres.ts"
import { HoldExpired, Ledger } from "../../../../src/services/credits/Ledger.ts"
import { makeAccount, makeRecord } from "../../../support/api/searches.ts"
import { describeWithServers, pooler, postgresServer, proxy } from "../../../support/servers/PostgresServer.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { ledgerConformance } from "../../conformance/credits/Ledger.conformance.ts"

const timeout = 300_000

const storageAt = (url: Redacted.Redacted, options: Partial<Postgres.PostgresOptions> = {}) =>
  SqlStorage.layer(Postgres.layer({ url, poolSize: 6, ...options }))

/** Only for tests of time limits: a busy machine or a slow disk can delay any statement by a second. */
const shortLimit = { statementTimeout: Duration.seconds(2) }

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.all([Clock.currentTimeMillis, effect, Clock.currentTimeMillis]), ([start, value, end]) => ({
    value,
    ms: end - start
  }))

/** One search with a response: its log entry's id if it was charged. */
const search = Effect.fnUntraced(function* (account: Account) {
  const ledger = yield* Ledger
  const record = yield* makeRecord(account)
  const exit = yield* Effect.exit(Effect.flatMap(ledger.reserve(account, 1), (hold) => ledger.settle(hold, [record])))
  return { id: record.id, charged: Exit.isSuccess(exit) }
})

/** Searches of twenty callers, one after another, for as long as the effect runs. */
const searchesDuring = Effect.fnUntraced(function* <E, R>(account: Account, during: Effect.Effect<void, E, R>) {
  const over = yield* Ref.make(false)
  const caller = Effect.gen(function* () {
    const mine: Array<Effect.Success<ReturnType<typeof search>>> = []
    while (!(yield* Ref.get(over))) mine.push(yield* search(account))
    return mine
  })
  const callers = yield* Effect.forkChild(
    Effect.all(
      Array.from({ length: 20 }, () => caller),
      { concurrency: "unbounded" }
    )
  )
  yield* during
  yield* Ref.set(over, true)
  return (yield* Fiber.join(callers)).flat()
})

/** I4, I5: what was charged is in the log, and nothing else is; holds of requests that failed go back. */
const booksAgree = Effect.fnUntraced(function* (
  account: Account,
  searches: ReadonlyArray<{ readonly id: string; readonly charged: boolean }>
) {
  const ledger = yield* Ledger
  const sql = yield* SqlClient.SqlClient
  const logged = yield* sql<{ readonly id: string }>`select id from queries order by id`
  const charged = searches.filter((it) => it.charged).map((it) => it.id)
  assert.deepStrictEqual(
    logged.map((it) => it.id),
    charged.toSorted()
  )
  yield* sql`update holds set expires_at = clock_timestamp()`
  yield* ledger.sweep
  assert.deepInclude(yield* ledger.allowance(account), { used: charged.length })
  assert.deepStrictEqual(yield* ledger.verify, [])
})

const anAccount = makeAccount({ plan: "custom", quota: 1_000_000 })

describeWithServers("Connections to Postgres", () => {
  it.live(
    "a request that finds no free connection waits for a bounded time, and loses nothing",
    () =>
      Effect.gen(function* () {
        const { url } = yield* postgresServer
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* anAccount
          const busy = yield* Effect.forkChild(
            Effect.all(
              [1, 2, 3, 4].map(() => sql.withTransaction(Effect.sleep("9 seconds"))),
              { concurrency: 4 }
            )
          )
          yield* Effect.sleep("500 millis")
          const { ms, value } = yield* timed(search(account))
          assert.isFalse(value.charged)
          assert.isBelow(ms, 5000)
          yield* Fiber.join(busy)
          yield* booksAgree(account, [value, yield* search(account)])
        }).pipe(Effect.provide(storageAt(url, shortLimit)))
      }),
    timeout
  )

  it.live(
    "I4, I5: a restart under load, orderly, in haste or killed, is survived, and every search has the end that its caller heard of",
    () =>
      Effect.gen(function* () {
        const server = yield* postgresServer
        yield* Effect.gen(function* () {
          const account = yield* anAccount
          const searches = yield* searchesDuring(
            account,
            Effect.gen(function* () {
              for (const end of [server.stop("fast"), server.stop("immediate"), server.kill, server.kill]) {
                yield* Effect.sleep("500 millis")
                yield* Effect.andThen(end, server.start)
              }
              yield* Effect.sleep("500 millis")
            })
          )
          yield* booksAgree(account, searches)
          assert.isAbove(searches.filter((it) => it.charged).length, 100)
        }).pipe(Effect.provide(storageAt(server.url)))
      }),
    timeout
  )

  it.live(
    "I1 to I5: no commit is awaited for a reservation: a killed server may lose it, but never a settlement",
    () =>
      Effect.gen(function* () {
        const server = yield* postgresServer
        yield* Effect.gen(function* () {
          const ledger = yield* Ledger
          const sql = yield* SqlClient.SqlClient
          const account = yield* anAccount
          const settled = yield* search(account)
          // What nobody waits for reaches the disk within a second, by this process.
          const [writer] = yield* sql<{ readonly pid: number }>`
            select pid from pg_stat_activity where backend_type = 'walwriter'`
          process.kill(writer?.pid ?? assert.fail("there is a WAL writer"), "SIGSTOP")
          const forgotten = yield* ledger.reserve(account, 1)
          const [after] = yield* sql`
            select current_setting('synchronous_commit') as commit, count(*)::int as holds from holds`
          assert.deepStrictEqual(after, { commit: "on", holds: 1 })
          yield* server.kill
          yield* server.start
          const exit = yield* Effect.exit(ledger.settle(forgotten, [yield* makeRecord(account)]))
          assert.deepStrictEqual(exit, Exit.fail(new HoldExpired({ holdId: forgotten.id })))
          yield* booksAgree(account, [settled, yield* search(account)])
        }).pipe(Effect.provide(storageAt(server.url, { poolSize: 1 })))
      }),
    timeout
  )

  it.live(
    "I4, I5: a frozen server costs each request a bounded time, and every search has the end that its caller heard of",
    () =>
      Effect.gen(function* () {
        const server = yield* postgresServer
        yield* Effect.gen(function* () {
          const account = yield* anAccount
          const asleep = { ms: 0 }
          const searches = yield* searchesDuring(
            account,
            Effect.gen(function* () {
              yield* Effect.sleep("500 millis")
              yield* server.frozen(
                Effect.gen(function* () {
                  yield* Effect.sleep("1 second")
                  // The statement's limit twice, its own and that of the batch before, and giving up its connection.
                  const { ms, value } = yield* timed(search(account))
                  assert.isFalse(value.charged)
                  asleep.ms = ms
                  yield* Effect.sleep("3 seconds")
                })
              )
              yield* Effect.sleep("1 second")
            })
          )
          assert.isBelow(asleep.ms, 20_000)
          yield* booksAgree(account, searches)
          const { ms, value } = yield* timed(search(account))
          assert.isTrue(value.charged)
          assert.isBelow(ms, 1000)
        }).pipe(Effect.provide(storageAt(server.url, shortLimit)))
      }),
    timeout
  )

  it.live(
    "I4, I5: a failover to another server under load is followed without a restart",
    () =>
      Effect.gen(function* () {
        const primary = yield* postgresServer
        const entrance = yield* proxy(primary.port)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* anAccount
          const standby = yield* primary.standby
          yield* sql`alter system set synchronous_standby_names = '*'`
          yield* sql`select pg_reload_conf()`
          const searches = yield* searchesDuring(
            account,
            Effect.gen(function* () {
              yield* Effect.sleep("1 second")
              yield* primary.stop("immediate")
              // A balancer may know the new one before it may be written to.
              yield* entrance.switchTo(standby.port)
              yield* Effect.sleep("300 millis")
              yield* standby.promote
              yield* sql`alter system set synchronous_standby_names = ''`
              yield* sql`select pg_reload_conf()`
              yield* Effect.sleep("1 second")
            })
          )
          const [server] = yield* sql`select inet_server_port() as port`
          assert.deepStrictEqual(server, { port: standby.port })
          yield* booksAgree(account, searches)
          assert.isTrue((yield* search(account)).charged)
        }).pipe(Effect.provide(storageAt(entrance.url)))
      }),
    timeout
  )

  it.live(
    "I4, I5: while the only synchronous standby is frozen nothing is charged without an answer, and its return is enough",
    () =>
      Effect.gen(function* () {
        const primary = yield* postgresServer
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const account = yield* anAccount
          const standby = yield* primary.standby
          yield* sql`alter system set synchronous_standby_names = '*'`
          yield* sql`select pg_reload_conf()`
          const before = yield* search(account)
          assert.isTrue(before.charged)
          const searches = yield* searchesDuring(
            account,
            Effect.gen(function* () {
              yield* Effect.sleep("500 millis")
              // Longer than a statement may take on either side.
              yield* standby.frozen(Effect.sleep("10 seconds"))
              yield* Effect.sleep("1 second")
            })
          )
          const after = yield* timed(search(account))
          assert.isTrue(after.value.charged)
          yield* booksAgree(account, [before, ...searches, after.value])
        }).pipe(Effect.provide(storageAt(primary.url, { statementTimeout: Duration.seconds(3) })))
      }),
    timeout
  )

  it.live(
    "an account whose rows are locked elsewhere fails in a bounded time, and the others wait for it once",
    () =>
      Effect.gen(function* () {
        const { url } = yield* postgresServer
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const locked = yield* anAccount
          const free = yield* anAccount
          const release = yield* Deferred.make<void>()
          const holder = yield* Effect.forkChild(
            sql.withTransaction(
              Effect.andThen(
                sql`select from wallets where account_id = ${locked.id} for update`,
                Deferred.await(release)
              )
            )
          )
          yield* Effect.sleep("200 millis")
          const first = yield* timed(Effect.all([search(locked), search(free)], { concurrency: 2 }))
          assert.deepStrictEqual(
            first.value.map((it) => it.charged),
            [false, true]
          )
          assert.isBelow(first.ms, 5500)
          const stuck = yield* Effect.forkChild(Effect.all([search(locked), search(locked)], { concurrency: 2 }))
          for (let n = 0; n < 20; n++) {
            const { ms, value } = yield* timed(search(free))
            assert.isTrue(value.charged)
            assert.isBelow(ms, 500)
          }
          assert.deepStrictEqual(
            (yield* Fiber.join(stuck)).map((it) => it.charged),
            [false, false]
          )
          yield* Deferred.succeed(release, undefined)
          yield* Fiber.join(holder)
          assert.isTrue((yield* search(locked)).charged)
          assert.deepStrictEqual(yield* (yield* Ledger).verify, [])
        }).pipe(Effect.provide(storageAt(url, { statementTimeout: Duration.seconds(10) })))
      }),
    timeout
  )

  const pooled = (options: Partial<Postgres.PostgresOptions> = {}) =>
    Layer.unwrap(
      Effect.gen(function* () {
        const { url } = yield* pooler(yield* postgresServer, 2)
        return storageAt(url, { prepare: false, poolSize: 8, ...options })
      })
    )

  // A pool that closes idle connections looks for them all through the years by which these tests set the clock.
  layer(pooled({ statementTimeout: Duration.seconds(10), idleTimeout: Duration.infinity }))(
    "through a transaction pooler with fewer connections",
    (it) => ledgerConformance(it)
  )

  it.live("a statement that takes too long is stopped on the server, also through a pooler", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { ms, value } = yield* timed(Effect.exit(sql`select pg_sleep(60)`))
      assert.isTrue(Exit.isFailure(value))
      assert.isBelow(ms, 7000)
      const running = yield* sql`select pid from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active'
        and pid <> pg_backend_pid()`
      assert.deepStrictEqual(running, [])
    }).pipe(Effect.provide(pooled(shortLimit)))
  )
})
