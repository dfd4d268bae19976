import {
  Clock,
  Context,
  Data,
  Duration,
  Effect,
  Latch,
  Layer,
  Redacted,
  Result,
  Schedule,
  type Stream,
  SubscriptionRef
} from "effect"
import { Cluster, Redis } from "ioredis"
import { OperatorError } from "../../domain/OperatorError.ts"
import { observe } from "../../services/Instrument.ts"
import { databaseDuration, redisAway } from "../../services/Metrics.ts"

export type RedisClient = Redis | Cluster

/** Redis did not answer, or is not asked because it did not answer a moment ago. */
export class RedisAway extends Data.TaggedError("RedisAway") {}

/** Redis answers and cannot be used with the address in REDIS_URL; the message says why. */
export class RedisUnusable extends OperatorError("RedisUnusable") {}

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
  // A cluster's error says only that no node answered well.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return messageOf(error.lastNodeError)
  return error.message || ("code" in error ? String(error.code) : error.name)
}

/**
 * A Redis that answers, and refuses the login or the database of the address. Unlike one that is away it does not come
 * right by itself, and without the database that was named the client goes on in another one.
 */
const isRefusal = (message: string): boolean =>
  /^(WRONGPASS|NOAUTH|NOPERM|ERR (invalid password|DB index|SELECT))/.test(message)

const unusable = (message: string): RedisUnusable =>
  new RedisUnusable({
    message: `Redis refuses the login or the database in REDIS_URL (${message.replace(/\.$/, "")}).`
  })

/** A node that has just joined answers, and refuses every key for some seconds. */
const assertInCluster = async (node: Redis): Promise<void> => {
  if (!(await node.cluster("INFO")).includes("cluster_state:ok")) throw new Error("the cluster is down")
}

/** A write, so that a full, read-only or loading Redis is away too; in a cluster every primary must be well. */
const probe = async (client: RedisClient): Promise<void> => {
  if (client instanceof Cluster) await Promise.all(client.nodes("master").map(assertInCluster))
  await client.set("quarry:probe", "", "PX", 1_000)
}

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
    /** Sends a command for whose answer nobody waits. While Redis is away it is not sent. */
    readonly send: (command: (client: RedisClient) => Promise<unknown>) => Effect.Effect<void>
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
        let refusal: string | undefined
        client.on("error", (error) => {
          connectionError = messageOf(error)
          if (isRefusal(connectionError)) refusal = connectionError
        })
        client.on("ready", () => {
          connectionError = noConnection
        })

        const writer = makeWriter(client)

        /**
         * Sends a command and tells once what came of it; a failure is the reason. Answers what ends the wait. When time
         * is up the answers that have already arrived are read first, and what has not left yet is given its time,
         * because a process that was busy for 100 ms must not take Redis for slow.
         */
        const issue = <A>(
          command: (client: RedisClient) => Promise<A>,
          tell: (answer: Result.Result<A, string>) => void
        ): (() => void) => {
          let waits = true
          const end = (answer: Result.Result<A, string>): void => {
            clearTimeout(timer)
            if (!waits) return
            waits = false
            tell(answer)
          }
          const fail = () => end(Result.fail(`no answer within ${answerMs} ms`))
          const expire = () => {
            if (writer.isHolding()) timer = setTimeout(expire, answerMs)
            else setImmediate(fail)
          }
          let timer = setTimeout(expire, answerMs)
          writer.hold()
          command(client).then(
            (answer) => end(Result.succeed(answer)),
            (error) => end(Result.fail(client.status === "ready" ? messageOf(error) : connectionError))
          )
          return () => {
            clearTimeout(timer)
            waits = false
          }
        }

        const attempt = <A>(command: (client: RedisClient) => Promise<A>) =>
          Effect.callback<A, string>((resume) => {
            const leave = issue(command, (answer) => resume(Effect.fromResult(answer)))
            return Effect.sync(leave)
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
        if (away !== undefined && isRefusal(away)) refusal = away
        if (refusal !== undefined) return yield* Effect.die(unusable(refusal))
        yield* Effect.forkScoped(Effect.forever(watch))

        const context = yield* Effect.context<never>()
        const measure = (startedAt: number, failure: "" | "unavailable"): void =>
          databaseDuration.of("redis", failure).updateUnsafe((performance.now() - startedAt) / 1000, context)

        /** Sends a command and learns from what comes of it. */
        const ask = <A>(
          command: (client: RedisClient) => Promise<A>,
          tell: (answer: Result.Result<A, string>) => void
        ): (() => void) => {
          const startedAt = performance.now()
          const leave = issue(command, (answer) => {
            measure(startedAt, Result.isSuccess(answer) ? "" : "unavailable")
            if (Result.isFailure(answer)) open(answer.failure)
            tell(answer)
          })
          return () => {
            measure(startedAt, "unavailable")
            leave()
          }
        }

        const gone = Effect.fail(new RedisAway())
        return RedisConnection.of({
          run: (command) =>
            Effect.callback((resume) => {
              if (away !== undefined) return resume(gone)
              const leave = ask(command, (answer) =>
                resume(Result.isSuccess(answer) ? Effect.succeed(answer.success) : gone)
              )
              return Effect.sync(leave)
            }),
          send: (command) =>
            Effect.sync(() => {
              if (away === undefined) ask(command, () => undefined)
            }),
          away: SubscriptionRef.changes(changes)
        })
      })
    )
}
