import { Context, Effect, Layer, Redacted } from "effect"
import { RateLimiter as LibraryLimiter, Redis as LibraryRedis } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Redis } from "ioredis"
import * as RateLimiterMemory from "../../src/layers/memory/RateLimiterMemory.ts"
import * as RateLimiterRedis from "../../src/layers/redis/RateLimiterRedis.ts"
import { RedisConnection } from "../../src/layers/redis/RedisConnection.ts"
import { RateLimiter } from "../../src/services/credits/RateLimiter.ts"
import * as Stores from "../support/Stores.ts"
import { compare, type LoopOptions } from "./Comparison.ts"

const callers = 64
/** High enough that every request is admitted. */
const limit = 1_000_000

/** ioredis with the options that come closest to `RedisConnection`: nothing is queued or sent again. */
export const client = (
  url: string,
  options: { readonly enableAutoPipelining?: boolean; readonly commandTimeout?: number } = {}
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const redis = new Redis(url, {
        lazyConnect: true,
        maxRetriesPerRequest: 0,
        ...options
      })
      redis.on("error", () => undefined)
      await redis.connect()
      redis.options.enableOfflineQueue = false
      return redis
    }),
    (redis) => Effect.sync(() => redis.disconnect())
  )

const attempt = <A>(run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new LibraryRedis.RedisError({ cause }) })

/** `Redis` of the library on ioredis. Its own implementation needs another client, which Quarry does not have. */
export const libraryRedis = (redis: Redis) =>
  LibraryRedis.make({
    // The cast: the library leaves it to the caller what a command returns.
    send: <A>(command: string, ...args: ReadonlyArray<string>) =>
      attempt(() => redis.call(command, ...args) as Promise<A>),
    subscribe: () => Effect.die("not used"),
    connect: Effect.die("not used")
  })

/** The library's limiter on one of its stores. */
const libraryLimiter = (store: Layer.Layer<LibraryLimiter.RateLimiterStore>) =>
  Effect.map(Layer.build(Layer.provide(LibraryLimiter.layer, store)), (context) =>
    Context.get(context, LibraryLimiter.RateLimiter)
  )

type Algorithm = "fixed-window" | "token-bucket"

const consume = (limiter: LibraryLimiter.RateLimiter, key: string, limit: number, algorithm: Algorithm) =>
  limiter.consume({ key, limit, window: "1 minute", algorithm })

const minuteMs = 60_000
const smallLimit = 60

/**
 * The most requests that are admitted within any minute, of a caller that sends one a second and then ten a second.
 */
const busiestMinute = Effect.fnUntraced(function* (admits: Effect.Effect<boolean>) {
  const admitted: Array<number> = []
  for (let now = 0; now < 5 * minuteMs; ) {
    if (yield* admits) admitted.push(now)
    const step = now < minuteMs - 1_000 ? 1_000 : 100
    yield* TestClock.adjust(step)
    now += step
  }
  return Math.max(...admitted.map((from) => admitted.filter((at) => at >= from && at < from + minuteMs).length))
}, Effect.provide(TestClock.layer()))

const busiestMinutes = Effect.gen(function* () {
  const own = Context.get(yield* Layer.build(RateLimiterMemory.layer()), RateLimiter)
  const ours = yield* busiestMinute(
    Effect.map(own.hit({ credential: "one", limit: smallLimit }), ({ admitted }) => admitted)
  )
  const limiter = yield* libraryLimiter(LibraryLimiter.layerStoreMemory)
  const ofLibrary = (algorithm: Algorithm) =>
    busiestMinute(Effect.isSuccess(consume(limiter, algorithm, smallLimit, algorithm)))
  const [fixed, bucket] = [yield* ofLibrary("fixed-window"), yield* ofLibrary("token-bucket")]
  return `Admitted in the busiest minute with a limit of ${smallLimit}: ours ${ours}, fixed window ${fixed}, token bucket ${bucket}`
}).pipe(Effect.scoped)

const credentials = Array.from({ length: callers }, (_, index) => `key_${index}`)

const inTurns = (run: (credential: string) => Effect.Effect<unknown, unknown>) => {
  let next = 0
  return Effect.suspend(() => run(credentials[next++ % callers] ?? ""))
}

/** As long as `RedisConnection` waits. */
const answerMs = 100

const requestsWhileFrozen = 20

/** How long requests take, one after another, while Redis accepts commands and does not respond. */
const whileFrozen = Effect.fnUntraced(function* (pid: number, command: Effect.Effect<unknown, unknown>) {
  process.kill(pid, "SIGSTOP")
  const startedAt = performance.now()
  for (let n = 0; n < requestsWhileFrozen; n++) yield* Effect.exit(command)
  const elapsed = performance.now() - startedAt
  process.kill(pid, "SIGCONT")
  return Math.round(elapsed)
})

export const comparisons = Effect.gen(function* () {
  const { pids, redisUrl } = yield* Stores.start
  const built = yield* Layer.build(RedisConnection.layer({ url: Redacted.make(redisUrl) }))
  const connection = Context.get(built, RedisConnection)
  const own = Context.get(
    yield* Layer.build(Layer.provide(RateLimiterRedis.layer, Layer.succeed(RedisConnection, connection))),
    RateLimiter
  )
  const plain = yield* client(redisUrl)
  const pipelining = yield* client(redisUrl, { enableAutoPipelining: true })
  // Not for the figures: ioredis starts to count when it takes a command, and a busy process reads the answer too late.
  const impatient = yield* client(redisUrl, { commandTimeout: answerMs })
  const library = yield* libraryRedis(plain)
  const limiter = yield* libraryLimiter(
    Layer.provide(LibraryLimiter.layerStoreRedis(), Layer.succeed(LibraryRedis.Redis, library))
  )
  const options: LoopOptions = { callers, server: pids.redis }
  const ourGet = connection.run((redis) => redis.get("quarry:bench"))
  const libraryGet = library.send("GET", "quarry:bench")
  const hit = inTurns((credential) => own.hit({ credential, limit }))
  const frozen = Effect.gen(function* () {
    if (pids.redis === undefined) return "Redis is not ours and cannot be frozen"
    const library = yield* whileFrozen(
      pids.redis,
      attempt(() => impatient.get("quarry:bench"))
    )
    const ours = yield* whileFrozen(pids.redis, ourGet)
    return `${requestsWhileFrozen} commands while Redis hangs took ${ours} ms with ours, ${library} ms with the library`
  })
  return [
    compare(
      "a counted request, fixed window",
      hit,
      inTurns((credential) => consume(limiter, `fixed:${credential}`, limit, "fixed-window")),
      { ...options, note: busiestMinutes }
    ),
    compare(
      "a counted request, token bucket",
      hit,
      inTurns((credential) => consume(limiter, `bucket:${credential}`, limit, "token-bucket")),
      options
    ),
    compare("GET, by Redis of effect/persistence", ourGet, libraryGet, options),
    compare(
      "GET, by ioredis with enableAutoPipelining",
      ourGet,
      attempt(() => pipelining.get("quarry:bench")),
      { ...options, note: frozen }
    )
  ]
})
