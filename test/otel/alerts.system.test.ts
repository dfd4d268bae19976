import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../src/layers/sql/store/Postgres.ts"
import { type FakePolar, fakePolar } from "../support/polar/FakePolar.ts"
import { promtool } from "../support/processes/OperatorTool.ts"
import { describeWithRedis } from "../support/servers/RedisServer.ts"
import { describeWithPostgres } from "../support/stores/Postgres.ts"
import * as Replica from "./Replica.ts"
import { firing, type Scrape } from "./TimeLapse.ts"

const timeout = 300_000

/** A replica, and what the faults of this file need of it. */
const startWith = Effect.fnUntraced(function* (settings: Record<string, string>) {
  const replica = yield* Replica.start(settings)
  const { send, url } = replica
  const search = (query: string) => send(`/v1/query?query=${encodeURIComponent(query)}`)
  const tool = (query: string) =>
    send("/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "web_search", arguments: { query } }
    })
  const sql = <A>(statement: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) =>
    Effect.flatMap(SqlClient.SqlClient, statement).pipe(
      Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true }),
      Effect.orDie
    )
  return { ...replica, search, sql, tool }
})

const start = startWith({})

type Service = Effect.Success<typeof start>

const minutes = 8

/** A pack that an account's person pays for at the provider. */
const payForPack = ({ model, productIds }: FakePolar, accountId: string): void => {
  const customer = model.createCustomer(accountId, "a@example.org")
  const checkout = model.openCheckout({
    productId: productIds.pack,
    customerId: customer.id,
    cents: 600,
    metadata: { quarry_account: accountId, quarry_kind: "pack", quarry_credits: 10_000, quarry_price: 600 },
    successUrl: "http://localhost/",
    returnUrl: "http://localhost/",
    isAdHoc: true,
    address: undefined
  })
  assert.isTrue(model.pay(checkout.id))
}

/** The alerts of this file. Others look at what happens by the clock, such as checks of the books. */
const watched = [
  "QuarryAvailabilityBurnFast",
  "QuarryBillingDeliveriesStopped",
  "QuarryCredentialsRefused",
  "QuarryDatabaseAway",
  "QuarryDatabaseRefusesWrites",
  "QuarryDown",
  "QuarryLimiterLocal",
  "QuarryRedisRefusesWrites",
  "QuarryReplicaGone"
]
const alertsAfter = (scrapes: ReadonlyArray<Scrape>) => firing(scrapes).filter((alert) => watched.includes(alert))

/** Scrapes before the fault, and after each of its minutes, of which `during` makes one. */
const scrapesDuring = <R>({ metrics }: Service, during: (minute: number) => Effect.Effect<unknown, never, R>) =>
  Effect.gen(function* () {
    const scrapes: Array<Scrape> = [{ a: yield* metrics }]
    for (let minute = 0; minute < minutes; minute++) {
      yield* during(minute)
      scrapes.push({ a: yield* metrics })
    }
    return scrapes
  })

describeWithPostgres("the alerts, on what a running service reports", () => {
  describeWithRedis("with Redis", () => {
    promtool.describe("as Prometheus reads the rules", () => {
      it.live(
        "nothing fires while all is well",
        () =>
          Effect.gen(function* () {
            const service = yield* start
            yield* service.search("before")
            const scrapes = yield* scrapesDuring(service, (minute) =>
              Effect.all([service.search(`${minute}`), service.send("/v1/bulk", { queries: [`${minute}`, "b"] })])
            )
            assert.deepStrictEqual(alertsAfter(scrapes), [])
          }),
        timeout
      )

      it.live(
        "four of ten rows of each batch fail: the error budget burns, though each batch is answered 200",
        () =>
          Effect.gen(function* () {
            const service = yield* start
            const batch = (from: string, failing: number) => ({
              queries: Array.from({ length: 10 }, (_, n) => `${n < failing ? "fail" : "row"} ${from} ${n}`)
            })
            yield* service.send("/v1/bulk", batch("before", 0))
            const scrapes = yield* scrapesDuring(service, (minute) =>
              Effect.map(service.send("/v1/bulk", batch(`${minute}`, 4)), ({ status }) =>
                assert.strictEqual(status, 200)
              )
            )
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryAvailabilityBurnFast"])
          }),
        timeout
      )

      it.live(
        "calls of a tool fail: the error budget burns, though each call is answered 200",
        () =>
          Effect.gen(function* () {
            const service = yield* start
            yield* service.tool("before")
            const scrapes = yield* scrapesDuring(service, (minute) =>
              Effect.map(
                Effect.all([service.tool(`fail ${minute}`), service.tool(`${minute}`), service.tool(`b ${minute}`)]),
                (answers) => {
                  assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
                  assert.include(answers[0].text, "upstream_error")
                }
              )
            )
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryAvailabilityBurnFast"])
          }),
        timeout
      )

      it.live(
        "a replica of two is gone",
        () =>
          Effect.gen(function* () {
            const [kept, lost] = yield* Effect.all([start, start])
            const scrape = Effect.all({ a: kept.metrics, b: lost.metrics })
            const scrapes: Array<Scrape> = [yield* scrape]
            lost.server.kill("SIGKILL")
            yield* lost.server.ended
            for (let minute = 0; minute < minutes; minute++) scrapes.push(yield* scrape)
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryReplicaGone"])
          }),
        timeout
      )

      const refusals: ReadonlyArray<readonly [string, (service: Service) => Effect.Effect<unknown>]> = [
        [
          "read-only",
          ({ name, sql }) =>
            sql((sql) =>
              Effect.andThen(
                sql.unsafe(`alter database ${name} set default_transaction_read_only = on`),
                sql`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = ${name} and pid <> pg_backend_pid()`
              )
            )
        ],
        [
          "full",
          ({ sql }) =>
            sql((sql) =>
              sql.unsafe(`do $$ begin
                create function no_space() returns trigger language plpgsql as 'begin
                  raise disk_full using message = ''could not extend file: No space left on device''; end';
                create trigger no_space before insert on ledger_entries execute function no_space();
              end $$`)
            )
        ]
      ]
      it.live.each(refusals)(
        "the database is %s",
        ([, fault]) =>
          Effect.gen(function* () {
            const service = yield* start
            yield* service.search("before")
            yield* fault(service)
            yield* service.search("first")
            const scrapes = yield* scrapesDuring(service, (minute) =>
              Effect.map(service.search(`${minute}`), ({ status }) => assert.strictEqual(status, 500))
            )
            const expected = ["QuarryAvailabilityBurnFast", "QuarryDatabaseRefusesWrites"]
            assert.deepStrictEqual(alertsAfter(scrapes), expected)
          }),
        timeout
      )

      const silences: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        ["full", ["CONFIG", "SET", "maxmemory", "1"]],
        ["a replica", ["REPLICAOF", "127.0.0.1", "1"]]
      ]
      it.live.each(silences)(
        "Redis is %s",
        ([, fault]) =>
          Effect.gen(function* () {
            const service = yield* start
            yield* service.search("before")
            yield* Effect.promise(() => service.redis.cli(...fault))
            yield* service.search("first")
            const scrapes = yield* scrapesDuring(service, (minute) =>
              Effect.andThen(
                Effect.map(service.search(`${minute}`), ({ status }) => assert.strictEqual(status, 200)),
                Effect.sleep("600 millis")
              )
            )
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryLimiterLocal", "QuarryRedisRefusesWrites"])
          }),
        timeout
      )

      it.live(
        "deliveries of the payment provider do not come, and the sweep repairs what they miss",
        () =>
          Effect.gen(function* () {
            // Its changes are old enough that their deliveries are no longer on the way.
            const polar = yield* fakePolar({ wallClock: () => Date.now() - 600_000 })
            const service = yield* startWith(polar.environment())
            const drift = /^quarry_billing_drift_total\{kind="order"\} 1$/m
            const before = yield* service.metrics
            assert.notMatch(before ?? "", drift)
            const [account] = yield* service.sql((sql) => sql`select id from accounts where email = 'a@example.org'`)
            payForPack(polar, String(account?.id))
            yield* service.sql((sql) => sql`update billing_sweeps set due_at = '2000-01-01'`)
            const after = yield* Effect.repeat(service.metrics, {
              until: (text) => drift.test(text ?? ""),
              schedule: Schedule.spaced("1 second"),
              times: 90
            }).pipe(Effect.andThen(service.metrics))
            const scrapes = [before, ...Array.from({ length: 15 }, () => after)].map((a) => ({ a }))
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryBillingDeliveriesStopped"])
          }),
        timeout
      )

      it.live(
        "credentials are refused that were accepted before",
        () =>
          Effect.gen(function* () {
            const service = yield* start
            const good = service.search("same")
            const bad = Effect.map(service.send("/v1/query?query=same", undefined, "sk_live_gone"), ({ status }) =>
              assert.strictEqual(status, 401)
            )
            yield* good
            yield* bad
            const scrapes = yield* scrapesDuring(service, () =>
              Effect.andThen(
                good,
                Effect.forEach(Array(5), () => bad)
              )
            )
            assert.deepStrictEqual(alertsAfter(scrapes), ["QuarryCredentialsRefused"])
          }),
        timeout
      )
    })
  })
})
