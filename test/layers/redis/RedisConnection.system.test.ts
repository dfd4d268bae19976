import { readFileSync } from "node:fs"
import { afterAll, afterEach, assert, beforeAll, beforeEach, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger, Metric, Redacted, Schedule, Stream } from "effect"
import { Ranking } from "../../../src/domain/search/Ranking.ts"
import * as RateLimiterRedis from "../../../src/layers/redis/RateLimiterRedis.ts"
import { RedisAway, RedisConnection, RedisUnusable } from "../../../src/layers/redis/RedisConnection.ts"
import * as ResultCacheRedis from "../../../src/layers/redis/ResultCacheRedis.ts"
import { RateLimiter } from "../../../src/services/credits/RateLimiter.ts"
import { ResultCache } from "../../../src/services/search/ResultCache.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { describeWithRedis, RedisCluster, RedisRoute, RedisServer } from "../../support/servers/RedisServer.ts"
import { searchCache } from "../../support/Time.ts"

/** The commands of the guide. */
const documentedRights =
  readFileSync(new URL("../../../docs/operate/redis.md", import.meta.url), "utf8")
    .match(/^ACL SETUSER.*$/m)?.[0]
    .split(" ")
    .filter((word) => word.startsWith("+")) ?? []

/** How long a request may wait for an unreachable Redis. */
const waitMs = 150

/** For the work around the wait. */
const workMs = 100

/** A limit that nobody reaches: what is refused under it is refused because of Redis. */
const unreachable = 1_000_000

/**
 * Where Redis answers each command, with an error perhaps: it is waited for, because a busy machine may keep it from
 * answering in the time that a request has.
 */
const patient = { answerMs: 60_000 }

/** Runs `test` on services that use the Redis at `url`, with metrics of their own and the lines that they log. */
const observe = <A>(
  url: Redacted.Redacted,
  test: (lines: Array<string>) => Effect.Effect<A, never, RateLimiter | ResultCache | RedisConnection>,
  options: { readonly answerMs?: number } = {}
) => {
  const lines: Array<string> = []
  const services = Layer.mergeAll(RateLimiterRedis.layer, ResultCacheRedis.layer({ ttl: Duration.minutes(1) })).pipe(
    Layer.provideMerge(RedisConnection.layer({ url, ...options })),
    Layer.provideMerge(Logger.layer([Logger.make(({ message }) => lines.push(String(message)))]))
  )
  return test(lines).pipe(Effect.provide(services), Effect.provideService(Metric.MetricRegistry, new Map()))
}

const metric = (id: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const state = metrics.find((it) => it.id === id)?.state
    if (state === undefined) return undefined
    return "value" in state ? state.value : "count" in state ? state.count : undefined
  })

/** True where commands have failed with this `error.type`. */
const hasFailed = (type: string) =>
  Effect.map(Metric.snapshot, (metrics) => metrics.some(({ attributes }) => attributes?.["error.type"] === type))

/** Waits until the metric says whether limits are counted in this process. */
const becomesLocal = (local: 0 | 1) =>
  metric("quarry.limiter.local").pipe(
    Effect.repeat({ until: (value) => value === local, schedule: Schedule.spaced(10) }),
    Effect.timeout("10 seconds"),
    Effect.orDie
  )

/** The lengths of the next outages of Redis, each known when it has ended. */
const measureAbsences = Effect.gen(function* () {
  const { away } = yield* RedisConnection
  const absencesMs: Array<number> = []
  let since: number | undefined
  const take = (isAway: boolean) =>
    Effect.sync(() => {
      if (!isAway && since !== undefined) absencesMs.push(performance.now() - since)
      since = isAway ? performance.now() : undefined
    })
  yield* Effect.forkChild(Stream.runForEach(away, take))
  return absencesMs
})

/**
 * Limits and searches from several fibers without pause, and tells how long each took, what was refused, and by how much
 * a wait of the same length was late meanwhile: by so much the machine had other things to do.
 */
const load = Effect.gen(function* () {
  const limiter = yield* RateLimiter
  const cache = yield* ResultCache
  let longest = 0
  let refused = 0
  let lateMs = 0
  let uses = 0
  const timed = <A>(use: Effect.Effect<A>) =>
    Effect.suspend(() => {
      const before = performance.now()
      return Effect.tap(use, () => {
        longest = Math.max(longest, performance.now() - before)
        uses++
        return Effect.void
      })
    })
  const client = Effect.gen(function* () {
    if (!(yield* timed(limiter.hit({ credential: "load", limit: unreachable }))).admitted) refused++
    yield* timed(
      searchCache(
        cache,
        searchRequest({ query: `load ${uses}` }),
        Effect.succeed({ provider: "p", ranking: new Ranking([]), cached: false })
      ).pipe(Effect.orDie)
    )
    yield* Effect.sleep(2)
  })
  const waiting = Effect.suspend(() => {
    const due = performance.now() + waitMs
    return Effect.map(Effect.sleep(waitMs), () => {
      lateMs = Math.max(lateMs, performance.now() - due)
    })
  })
  const clients = yield* Effect.forkChild(
    Effect.forEach([...Array.from({ length: 8 }, () => client), waiting], (one) => Effect.forever(one), {
      concurrency: "unbounded"
    })
  )
  return Effect.as(
    Fiber.interrupt(clients),
    Effect.sync(() => ({ longest, refused, lateMs }))
  ).pipe(Effect.flatten)
})

/** Under load: Redis goes away by `fault` and comes back by `mend`. */
const endures = (url: Redacted.Redacted, fault: () => void | Promise<void>, mend: () => void | Promise<void>) =>
  observe(url, (lines) =>
    Effect.gen(function* () {
      const end = yield* load
      yield* becomesLocal(0)
      yield* Effect.sleep("200 millis")
      yield* Effect.promise(async () => fault())
      yield* becomesLocal(1)
      // Longer than the client keeps a silent connection.
      yield* Effect.sleep("1500 millis")
      const fallbacks = Number(yield* metric("quarry.limiter.fallbacks"))
      assert.isAbove(fallbacks, 10)
      yield* Effect.promise(async () => mend())
      yield* becomesLocal(0)
      yield* Effect.sleep("200 millis")
      const { lateMs, longest, refused } = yield* end
      assert.isAtMost(longest, waitMs + workMs + lateMs)
      assert.strictEqual(refused, 0)
      // A machine that stands still for the time of an answer takes Redis for away once more, which is a line more.
      const said = lines.map((line) => line.replace(/\(.*\)|after .*/, "…"))
      assert.deepStrictEqual(said.slice(0, 2), [
        "Redis is down …. This process works without it until it recovers.",
        "Redis is up again …"
      ])
    })
  )

const server = await RedisServer.make()
const secured = await RedisServer.make("the-secret")

const successor = await RedisServer.make()

const withRoute = <A>(test: (route: RedisRoute) => Effect.Effect<A>) =>
  Effect.acquireUseRelease(
    Effect.promise(() => RedisRoute.make(server)),
    test,
    (route) => Effect.sync(() => route.close())
  )

describeWithRedis("RedisConnection to one Redis", () => {
  beforeEach(() => server.start())
  afterEach(async () => {
    await server.stop()
    await successor.stop()
  })

  it.live("R28: goes without a Redis that was killed, and returns when it runs again", () =>
    endures(
      server.url(),
      () => server.stop(),
      () => server.start()
    )
  )

  it.live("R28: goes without a Redis that is frozen, and returns when it is not", () =>
    endures(
      server.url(),
      () => server.signal("SIGSTOP"),
      () => server.signal("SIGCONT")
    )
  )

  it.live("R28: goes without a Redis that takes no writes, and returns when it does", () =>
    endures(
      server.url(),
      () => void server.cli("CONFIG", "SET", "maxmemory", "1"),
      () => void server.cli("CONFIG", "SET", "maxmemory", "0")
    )
  )

  it.live(
    "R28: a Redis that is full is left alone for longer each time, with few lines in the log, until it is not",
    () =>
      observe(
        server.url(),
        (lines) =>
          Effect.gen(function* () {
            yield* Effect.promise(() => server.cli("CONFIG", "SET", "maxmemory-policy", "noeviction"))
            const { send } = yield* RedisConnection
            const { hit } = yield* RateLimiter
            // Each key lives for a moment, so that there is room again for a probe, and none for what comes after it.
            const fill = send((client) => client.set(`fill:${Math.random()}`, "x".repeat(200_000), "PX", 300))
            const client = Effect.andThen(fill, hit({ credential: "full", limit: unreachable }))
            const pausesMs = yield* measureAbsences
            const clients = yield* Effect.forkChild(Effect.forever(Effect.andThen(client, Effect.sleep(5))))
            yield* Effect.promise(() => server.cli("CONFIG", "SET", "maxmemory", "2mb"))
            yield* Effect.sync(() => pausesMs.length).pipe(
              Effect.repeat({ until: (count) => count >= 4, schedule: Schedule.spaced(10) })
            )
            yield* Effect.promise(() => server.cli("CONFIG", "SET", "maxmemory", "0"))
            yield* Fiber.interrupt(clients)
            const timerMs = 2
            for (const [n, least] of [250, 500, 1_000, 2_000].entries()) {
              assert.isAtLeast(pausesMs[n] ?? 0, least - timerMs, `${pausesMs}`)
            }
            assert.isAtMost(lines.length, 3, lines.join("\n"))
            assert.match(
              lines.at(-1) ?? "",
              /^Redis is down again \(OOM .*\)\. While it keeps failing soon after it recovers/
            )
            yield* becomesLocal(0)
            assert.isTrue(yield* hasFailed("OOM"))
          }),
        patient
      )
  )

  it.live("R28: goes without a Redis behind a cut network, and returns over a connection of its own making", () =>
    withRoute((route) =>
      endures(
        route.url(),
        () => route.silence(),
        () => undefined
      )
    )
  )

  it.live("R28: says of a replica that it is read-only, and returns when it is a primary again", () =>
    observe(
      server.url(),
      (lines) =>
        Effect.gen(function* () {
          const end = yield* load
          yield* becomesLocal(0)
          yield* Effect.promise(() => server.cli("REPLICAOF", "127.0.0.1", "1"))
          yield* becomesLocal(1)
          yield* Effect.sleep("600 millis")
          assert.match(lines[0] ?? "", /^Redis is down \(READONLY .*\)\. This process works without it/)
          assert.isTrue(yield* hasFailed("READONLY"))
          yield* Effect.promise(() => server.cli("REPLICAOF", "NO", "ONE"))
          yield* becomesLocal(0)
          assert.strictEqual((yield* end).refused, 0)
        }),
      patient
    )
  )

  it.live("R28: follows an address to its new primary when the old one has become a replica", () =>
    withRoute((route) =>
      endures(
        route.url(),
        () => void server.cli("REPLICAOF", "127.0.0.1", "1"),
        async () => {
          await successor.start()
          route.target = successor
        }
      )
    )
  )

  it.live("R28: is back within seconds of a restart, and counts in Redis again", () =>
    observe(server.url(), () =>
      Effect.gen(function* () {
        const end = yield* load
        yield* Effect.sleep("200 millis")
        yield* Effect.promise(() => server.stop().then(() => server.start()))
        yield* becomesLocal(0)
        yield* Effect.sleep("500 millis")
        const { lateMs, longest, refused } = yield* end
        assert.isAtMost(longest, waitMs + workMs + lateMs)
        assert.strictEqual(refused, 0)
        assert.isAbove(Number(yield* Effect.promise(() => server.cli("LLEN", "quarry:rl:{load}"))), 10)
      })
    )
  )

  it.live("goes on with Redis when it was flushed, scripts and all, with windows that begin anew", () =>
    observe(server.url(), (lines) =>
      Effect.gen(function* () {
        const { hit } = yield* RateLimiter
        const admitted = Effect.map(hit({ credential: "flushed", limit: 1 }), ({ admitted }) => admitted)
        assert.deepStrictEqual([yield* admitted, yield* admitted], [true, false])
        yield* Effect.promise(() => server.cli("FLUSHALL"))
        yield* Effect.promise(() => server.cli("SCRIPT", "FLUSH"))
        assert.deepStrictEqual([yield* admitted, yield* admitted], [true, false])
        assert.deepStrictEqual(lines, [])
      })
    )
  )

  it.live("R28: starts without Redis, limits by itself, and finds Redis when it comes up", () =>
    Effect.gen(function* () {
      yield* Effect.promise(() => server.stop())
      yield* observe(server.url(), (lines) =>
        Effect.gen(function* () {
          yield* becomesLocal(1)
          assert.match(lines[0] ?? "", /ECONNREFUSED/)
          const { hit } = yield* RateLimiter
          const admitted = Effect.map(hit({ credential: "early", limit: 1 }), ({ admitted }) => admitted)
          assert.deepStrictEqual([yield* admitted, yield* admitted], [true, false])
          assert.strictEqual(yield* metric("quarry.limiter.fallbacks"), 2)
          yield* Effect.promise(() => server.start())
          yield* becomesLocal(0)
          assert.deepStrictEqual([yield* admitted, yield* admitted], [true, false])
          assert.strictEqual(yield* metric("quarry.limiter.fallbacks"), 2)
        })
      )
    })
  )

  it.live("sends nothing to an unreachable Redis", () =>
    observe(server.url(), () =>
      Effect.gen(function* () {
        const { run } = yield* RedisConnection
        let asked = 0
        const ask = run(() => {
          asked++
          return Promise.reject(new Error("away"))
        })
        for (let times = 0; times < 3; times++) assert.deepStrictEqual(yield* Effect.flip(ask), new RedisAway())
        assert.strictEqual(asked, 1)
      })
    )
  )

  it.live("does not take Redis for slow when it was the process that was busy", () =>
    observe(server.url(), () =>
      Effect.gen(function* () {
        const { run } = yield* RedisConnection
        const answer = yield* Effect.forkChild(Effect.orDie(run((client) => client.ping())))
        yield* Effect.yieldNow
        const until = performance.now() + 300
        while (performance.now() < until);
        assert.strictEqual(yield* Fiber.join(answer), "PONG")
      })
    )
  )
})

describeWithRedis("RedisConnection to a Redis with a password", () => {
  beforeAll(() => secured.start())
  afterAll(() => secured.stop())

  it.live("signs in", () =>
    observe(secured.url(), (lines) =>
      Effect.gen(function* () {
        const { run } = yield* RedisConnection
        assert.strictEqual(yield* Effect.orDie(run((client) => client.ping())), "PONG")
        assert.deepStrictEqual(lines, [])
      })
    )
  )

  const refusal = (url: Redacted.Redacted) =>
    observe(url, () => Effect.void, patient).pipe(
      Effect.catchDefect((defect) =>
        Effect.succeed(defect instanceof RedisUnusable ? defect.message : assert.fail(String(defect)))
      ),
      Effect.map(String)
    )

  it.live("a start whose user lacks one of the commands is refused in one line that names the guide", () =>
    Effect.gen(function* () {
      const rights = ["on", ">pass", "~quarry:*", ...documentedRights]
      const login = Redacted.make(`redis://quarry:pass@127.0.0.1:${secured.port}`)
      for (const missing of ["time", "lpop", "get", "eval", "evalsha"]) {
        const some = rights.filter((right) => right !== `+${missing}`)
        yield* Effect.promise(() => secured.cli("ACL", "SETUSER", "quarry", "reset", ...some))
        const message = yield* refusal(login)
        assert.match(message, /^The user in REDIS_URL lacks a right [^\n]*docs\/operate\/redis\.md/, missing)
      }
      yield* Effect.promise(() => secured.cli("ACL", "SETUSER", "quarry", "reset", ...rights))
      assert.strictEqual(yield* refusal(login), "undefined")
    })
  )

  it.live("a start with a wrong password, or none, is refused in one line that does not hold it", () =>
    Effect.gen(function* () {
      assert.match(yield* refusal(secured.url("mistaken")), /^Redis rejected [^\n]*REDIS_URL \(WRONGPASS [^\n]*\)\.$/)
      assert.notInclude(yield* refusal(secured.url("mistaken")), "mistaken")
      const none = Redacted.make(`redis://127.0.0.1:${secured.port}`)
      assert.match(yield* refusal(none), /^Redis rejected [^\n]*REDIS_URL \(NOAUTH [^\n]*\)\.$/)
    })
  )

  it.live("a start with a database that is not there is refused in one line, and not made on another one", () =>
    Effect.gen(function* () {
      const url = Redacted.make(`${Redacted.value(secured.url())}/99`)
      assert.match(yield* refusal(url), /^Redis rejected [^\n]*REDIS_URL \(ERR DB index is out of range\)\.$/)
    })
  )
})

const cluster = await RedisCluster.make()

describeWithRedis("RedisConnection to a Redis Cluster", () => {
  beforeAll(() => cluster.start())
  afterAll(() => cluster.stop())

  it.live("R28: goes without a cluster of which a node is frozen, and returns when it is not", () =>
    endures(
      cluster.url(),
      () => cluster.nodes[0]?.signal("SIGSTOP"),
      () => cluster.nodes[0]?.signal("SIGCONT")
    )
  )

  it.live("R28: goes without a cluster of which a node was killed, and returns when it runs again", () =>
    endures(
      cluster.url(),
      () => cluster.nodes[1]?.stop(),
      () => cluster.nodes[1]?.start()
    )
  )
})
