import {
  Clock,
  Context,
  Data,
  Duration,
  Effect,
  Exit,
  Latch,
  Layer,
  Metric,
  Redacted,
  Schedule,
  type Stream,
  SubscriptionRef
} from "effect"
import { Cluster, Redis } from "ioredis"
import { observe } from "../../services/Instrument.ts"
import { databaseDuration, redisAway } from "../../services/Metrics.ts"

export type RedisClient = Redis | Cluster

/** Redis did not answer, or is not asked because it did not answer a moment ago. */
export class RedisAway extends Data.TaggedError("RedisAway") {}

/** What a caller waits for Redis at most. */
const answerMs = 100

/** Between two looks for whether Redis is back. */
const probeEveryMs = 250

/** What a start waits for Redis before it goes on without (R28). */
const startMs = 1_000

/** A connection that owes an answer for so long is given up: after a network cut no other sign of its end may come. */
const silentMs = 1_000

const retryDelayMs = (times: number): number => Math.min(times * 50, 500)

/**
 * Nothing waits inside the client: a command is sent at once or fails, and is not sent again over a later connection,
 * because a request counted twice could refuse another.
 */
const nodeOptions = { maxRetriesPerRequest: 0, connectTimeout: startMs, socketTimeout: silentMs }
const clientOptions = { lazyConnect: true, enableOfflineQueue: false }

const single = (address: string): Redis =>
  new Redis(address, {
    ...nodeOptions,
    ...clientOptions,
    retryStrategy: retryDelayMs,
    // A primary that became a replica keeps its connections: only a new one finds the primary behind the address.
    reconnectOnError: (error) => error.message.startsWith("READONLY")
  })

const cluster = (addresses: ReadonlyArray<string>): Cluster => {
  const { password, protocol, username } = new URL(addresses[0] ?? "")
  const login = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return new Cluster([...addresses], {
    ...clientOptions,
    clusterRetryStrategy: retryDelayMs,
    clusterNodeRetryStrategy: retryDelayMs,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 1_000,
    // The nodes that a cluster names come without a login, and with TLS they are named as their certificates are.
    ...(protocol === "rediss:"
      ? { redisOptions: { ...nodeOptions, ...login, tls: {} }, dnsLookup: (host, found) => found(null, host) }
      : { redisOptions: { ...nodeOptions, ...login } })
  })
}

/**
 * Has the commands of one turn of the event loop leave in one write, because a write costs more than all else about a
 * command. Nothing is held back longer. A cluster's nodes are left as they are.
 */
const makeWriter = (client: RedisClient) => {
  const stream = () => (client instanceof Redis && client.status === "ready" ? client.stream : undefined)
  let held: Redis["stream"] | undefined
  const flush = (): void => {
    held?.uncork()
    held = undefined
  }
  const hold = (): void => {
    if (held !== undefined) return
    held = stream()
    if (held === undefined) return
    held.cork()
    setImmediate(flush)
  }
  return { hold, isHolding: () => held !== undefined }
}

const noConnection = "no connection"

/** Never the error itself: the client hangs the failed command on it, and that of a login holds the password. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "no reason given"
  if (error.name === "MaxRetriesPerRequestError") return noConnection
  return error.message || ("code" in error ? String(error.code) : error.name)
}

/** A node that has just joined answers, and refuses every key for some seconds. */
const assertInCluster = async (node: Redis): Promise<void> => {
  if (!(await node.cluster("INFO")).includes("cluster_state:ok")) throw new Error("the cluster is down")
}

/** A write, so that a full, read-only or loading Redis is away too; in a cluster every primary must be well. */
const probe = async (client: RedisClient): Promise<void> => {
  if (client instanceof Cluster) await Promise.all(client.nodes("master").map(assertInCluster))
  await client.set("quarry:probe", "", "PX", 1_000)
}

const timed = <A, E>(command: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.clockWith((clock) => {
    const startedAt = clock.currentTimeNanosUnsafe()
    return Effect.onExit(command, (exit) => {
      const seconds = Number(clock.currentTimeNanosUnsafe() - startedAt) / 1e9
      return Metric.update(databaseDuration.of("redis", Exit.isSuccess(exit) ? "" : "unavailable"), seconds)
    })
  })

/** Connects in the background, and goes on when that has succeeded or taken too long. */
const start = (client: RedisClient) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), startMs)
    client.once("ready", () => {
      clearTimeout(timer)
      resume(Effect.void)
    })
    client.connect().catch(() => undefined)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * One connection to Redis, or one to each node of a Redis Cluster, that its users can do without (R28). A command that
 * fails or takes longer than 100 ms opens a breaker: from then on nobody waits, until a probe in the background has
 * found Redis well again.
 */
export class RedisConnection extends Context.Service<
  RedisConnection,
  {
    readonly run: <A>(command: (client: RedisClient) => Promise<A>) => Effect.Effect<A, RedisAway>
    /** Whether Redis is away: now, and at each change. */
    readonly away: Stream.Stream<boolean>
  }
>()("quarry/layers/redis/RedisConnection") {
  /** `url` is a `redis://` or `rediss://` address; several, separated by commas, are nodes of a Redis Cluster. */
  static readonly layer = (options: { readonly url: Redacted.Redacted }): Layer.Layer<RedisConnection> =>
    Layer.effect(
      RedisConnection,
      Effect.gen(function* () {
        const addresses = Redacted.value(options.url)
          .split(",")
          .map((address) => address.trim())
        const client = yield* Effect.acquireRelease(
          Effect.sync(() => (addresses.length > 1 ? cluster(addresses) : single(addresses[0] ?? ""))),
          (client) => Effect.sync(() => client.disconnect())
        )
        let connectionError = noConnection
        client.on("error", (error) => {
          connectionError = messageOf(error)
        })
        client.on("ready", () => {
          connectionError = noConnection
        })

        const writer = makeWriter(client)

        /**
         * The reason is the failure. When time is up the answers that have already arrived are read first, and what
         * has not left yet is given its time, because a process that was busy for 100 ms must not take Redis for slow.
         */
        const attempt = <A>(command: (client: RedisClient) => Promise<A>) =>
          Effect.callback<A, string>((resume) => {
            const fail = () => resume(Effect.fail(`no answer within ${answerMs} ms`))
            const expire = () => {
              if (writer.isHolding()) timer = setTimeout(expire, answerMs)
              else setImmediate(fail)
            }
            let timer = setTimeout(expire, answerMs)
            writer.hold()
            command(client).then(
              (answer) => {
                clearTimeout(timer)
                resume(Effect.succeed(answer))
              },
              (error) => {
                clearTimeout(timer)
                resume(Effect.fail(client.status === "ready" ? messageOf(error) : connectionError))
              }
            )
            return Effect.sync(() => clearTimeout(timer))
          })

        const changes = yield* SubscriptionRef.make(false)
        const opened = Latch.makeUnsafe(false)
        let away: string | undefined

        const open = (reason: string): void => {
          away ??= reason
          opened.openUnsafe()
        }

        /** Closes the breaker each time that it has opened and Redis is back. */
        const watch = Effect.gen(function* () {
          yield* opened.await
          const since = yield* Clock.currentTimeMillis
          yield* Effect.logWarning(`Redis is away (${away}): this process does without it until it is back.`)
          yield* SubscriptionRef.set(changes, true)
          yield* Effect.sleep(probeEveryMs)
          yield* Effect.retry(attempt(probe), Schedule.spaced(probeEveryMs))
          opened.closeUnsafe()
          away = undefined
          yield* SubscriptionRef.set(changes, false)
          const awayMs = (yield* Clock.currentTimeMillis) - since
          yield* Effect.logInfo(`Redis is back after ${Duration.format(Duration.millis(awayMs))}.`)
        })

        yield* observe(redisAway.of(), () => (away === undefined ? 0 : 1))
        yield* start(client)
        yield* Effect.catch(attempt(probe), (reason) => Effect.sync(() => open(reason)))
        yield* Effect.forkScoped(Effect.forever(watch))

        const gone = Effect.fail(new RedisAway())
        return RedisConnection.of({
          run: (command) =>
            Effect.suspend(() =>
              away === undefined
                ? Effect.catch(timed(attempt(command)), (reason) => {
                    open(reason)
                    return gone
                  })
                : gone
            ),
          away: SubscriptionRef.changes(changes)
        })
      })
    )
}
