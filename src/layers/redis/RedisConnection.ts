import {
  Clock,
  Context,
  Data,
  Duration,
  Effect,
  Latch,
  Layer,
  Option,
  type Redacted,
  Result,
  Schedule,
  type Scope,
  type Stream,
  SubscriptionRef
} from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import { observe } from "../../services/Instrument.ts"
import { databaseDuration, redisAway } from "../../services/Metrics.ts"
import {
  codeOf,
  connect,
  isAddressFault,
  makeClient,
  makeWriter,
  messageOf,
  noConnection,
  probe,
  type RedisClient
} from "./RedisClient.ts"

/** Redis did not answer, or no command is sent because it did not answer a moment ago. */
export class RedisAway extends Data.TaggedError("RedisAway") {}

/** Redis answers and cannot be used with the address in REDIS_URL; the message says why. */
export class RedisUnusable extends OperatorError("RedisUnusable") {
  static because(message: string): RedisUnusable {
    const reason = message.replace(/\.$/, "")
    return new RedisUnusable({ message: `Redis refuses the login or the database in REDIS_URL (${reason}).` })
  }
}

/** The longest that a caller waits for Redis, unless the options say otherwise. */
const defaultAnswerMs = 100

export interface RedisConnectionOptions {
  /** A `redis://` or `rediss://` address; several, separated by commas, are nodes of a Redis Cluster. */
  readonly url: Redacted.Redacted
  /** Longer where what Redis answers matters and the machine may be busy, as in tests. */
  readonly answerMs?: number
}

/** The time between two probes of a Redis that is away. */
const probeEveryMs = 250

/**
 * The longest time for which Redis is left alone when it fails soon after each return. A full one takes a probe whenever
 * a key has expired, and fails the commands after it.
 */
const maxPauseMs = 30_000

/** The least time between two lines of the log about a Redis that fails soon after each return. */
const relapseLogMs = 60_000

/** The time after which a return lasts. It grows with the pause, so that pauses grow until they are rare. */
const stableMs = (pauseMs: number): number => Math.max(5_000, pauseMs * 10)

type RedisCommand<A> = (client: RedisClient) => Promise<A>

/** Takes the answer of a command, or the reason why there is none. */
type OnAnswer<A> = (answer: Result.Result<A, string>) => void

const unanswered = "no answer in time"

/** The label `error.type` of a command: empty for a success, else Redis's code where it gave one. */
const errorType = (answer: Result.Result<unknown, string>): string => {
  if (Result.isSuccess(answer)) return ""
  return answer.failure === unanswered ? "timeout" : (codeOf(answer.failure) ?? "unavailable")
}

/** Ends the wait for an answer, which is then ignored. */
type Cancel = () => void

/**
 * The state of a connection. It has no cool-down of `domain/CoolDown.ts`, because no request may be the one that tries a
 * Redis that is away: only the probe in the background finds that it is back.
 */
interface State {
  readonly client: RedisClient
  readonly answerMs: number
  readonly writer: ReturnType<typeof makeWriter>
  /** The reason for which Redis is away; undefined while it answers. */
  awayReason: string | undefined
  /** Open while Redis is away. */
  readonly awayLatch: Latch.Latch
  readonly awayChanges: SubscriptionRef.SubscriptionRef<boolean>
  /** The last error of the connection: the reason of each command that fails while there is none. */
  connectionError: string
  /** The answer of Redis to a login or a database that it does not take. */
  addressFault: string | undefined
}

const open = Effect.fnUntraced(function* ({
  answerMs = defaultAnswerMs,
  url
}: RedisConnectionOptions): Effect.fn.Return<State, never, Scope.Scope> {
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => makeClient(url)),
    (client) => Effect.sync(() => client.disconnect())
  )
  const state: State = {
    client,
    answerMs,
    writer: makeWriter(client),
    awayReason: undefined,
    awayLatch: Latch.makeUnsafe(false),
    awayChanges: yield* SubscriptionRef.make(false),
    connectionError: noConnection,
    addressFault: undefined
  }
  client.on("error", (error) => {
    state.connectionError = messageOf(error)
    if (isAddressFault(state.connectionError)) state.addressFault = state.connectionError
  })
  client.on("ready", () => {
    state.connectionError = noConnection
  })
  return state
})

/**
 * Sends a command and calls `onAnswer` once. When the time is up, answers that have already arrived are read first, and
 * a command that has not left yet gets its time: a process that was busy for 100 ms must not take Redis for slow.
 */
const send = <A>(state: State, command: RedisCommand<A>, onAnswer: OnAnswer<A>): Cancel => {
  const { answerMs, client, writer } = state
  let isWaiting = true
  const end = (answer: Result.Result<A, string>): void => {
    clearTimeout(timer)
    if (!isWaiting) return
    isWaiting = false
    onAnswer(answer)
  }
  const fail = () => end(Result.fail(unanswered))
  const expire = () => {
    if (writer.isHolding()) timer = setTimeout(expire, answerMs)
    else setImmediate(fail)
  }
  let timer = setTimeout(expire, answerMs)
  writer.hold()
  command(client).then(
    (answer) => end(Result.succeed(answer)),
    (error) => end(Result.fail(client.status === "ready" ? messageOf(error) : state.connectionError))
  )
  return () => {
    clearTimeout(timer)
    isWaiting = false
  }
}

/** Sends a command and measures it. */
const sendMeasured = <A>(
  state: State,
  context: Context.Context<never>,
  command: RedisCommand<A>,
  onAnswer: OnAnswer<A>
): Cancel => {
  const startedAt = performance.now()
  const measure = (failure: string): void =>
    databaseDuration.of("redis", failure).updateUnsafe((performance.now() - startedAt) / 1000, context)
  const cancel = send(state, command, (answer) => {
    measure(errorType(answer))
    onAnswer(answer)
  })
  return () => {
    measure("interrupted")
    cancel()
  }
}

const sendProbe = (state: State) =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.callback<void, string>((resume) => {
      const cancel = sendMeasured(state, context, probe, (answer) => resume(Effect.fromResult(answer)))
      return Effect.sync(cancel)
    })
  )

const markAway = (state: State, reason: string): void => {
  state.awayReason ??= reason
  state.awayLatch.openUnsafe()
}

/** Leaves Redis alone for the pause, and then waits until a probe has found it again. */
const awaitReturn = Effect.fnUntraced(function* (state: State, pauseMs: number) {
  yield* SubscriptionRef.set(state.awayChanges, true)
  yield* Effect.sleep(pauseMs)
  yield* Effect.retry(sendProbe(state), Schedule.spaced(probeEveryMs))
  state.awayLatch.closeUnsafe()
  state.awayReason = undefined
  yield* SubscriptionRef.set(state.awayChanges, false)
})

/** Waits until Redis has been away and has returned to stay. The pause doubles with each return that does not last. */
const watchOnce = Effect.fnUntraced(function* (state: State) {
  yield* state.awayLatch.await
  const since = yield* Clock.currentTimeMillis
  yield* Effect.logWarning(`Redis is away (${state.awayReason}): this process does without it until it is back.`)
  yield* awaitReturn(state, probeEveryMs)
  const awayMs = (yield* Clock.currentTimeMillis) - since
  yield* Effect.logInfo(`Redis is back after ${Duration.format(Duration.millis(awayMs))}.`)
  yield* watchRelapses(state)
})

const watchRelapses = Effect.fnUntraced(function* (state: State) {
  let pauseMs = probeEveryMs
  let loggedAt = Number.NEGATIVE_INFINITY
  while (Option.isSome(yield* Effect.timeoutOption(state.awayLatch.await, stableMs(pauseMs)))) {
    pauseMs = Math.min(pauseMs * 2, maxPauseMs)
    const now = yield* Clock.currentTimeMillis
    if (now - loggedAt >= relapseLogMs) {
      loggedAt = now
      const pause = Duration.format(Duration.millis(maxPauseMs))
      yield* Effect.logWarning(
        `Redis is away again (${state.awayReason}): while it fails soon after each return, this process does without ` +
          `it for up to ${pause} at a time.`
      )
    }
    yield* awaitReturn(state, pauseMs)
  }
  if (pauseMs > probeEveryMs) yield* Effect.logInfo("Redis is back to stay.")
})

/** Connects, and starts the watch. A Redis that is away does not fail a start; one that cannot be used does. */
const start = Effect.fnUntraced(function* (state: State) {
  yield* observe(redisAway.of(), () => (state.awayReason === undefined ? 0 : 1))
  yield* connect(state.client)
  yield* Effect.catch(sendProbe(state), (reason) => Effect.sync(() => markAway(state, reason)))
  const { awayReason } = state
  const fault = awayReason !== undefined && isAddressFault(awayReason) ? awayReason : state.addressFault
  if (fault !== undefined) return yield* Effect.die(RedisUnusable.because(fault))
  yield* Effect.forkScoped(Effect.forever(watchOnce(state)))
})

/** Sends a command. After a failure no more are sent until a probe has found Redis again. */
const execute = <A>(
  state: State,
  context: Context.Context<never>,
  command: RedisCommand<A>,
  onAnswer: OnAnswer<A>
): Cancel =>
  sendMeasured(state, context, command, (answer) => {
    if (Result.isFailure(answer)) markAway(state, answer.failure)
    onAnswer(answer)
  })

const away = Effect.fail(new RedisAway())

const make = Effect.fnUntraced(function* (options: RedisConnectionOptions) {
  const state = yield* open(options)
  yield* start(state)
  const context = yield* Effect.context<never>()
  return RedisConnection.of({
    run: (command) =>
      Effect.callback((resume) => {
        if (state.awayReason !== undefined) return resume(away)
        const cancel = execute(state, context, command, (answer) =>
          resume(Result.isSuccess(answer) ? Effect.succeed(answer.success) : away)
        )
        return Effect.sync(cancel)
      }),
    send: (command) =>
      Effect.sync(() => {
        if (state.awayReason === undefined) execute(state, context, command, () => undefined)
      }),
    away: SubscriptionRef.changes(state.awayChanges)
  })
})

/**
 * One connection to Redis, or one to each node of a Redis Cluster, that its users can do without (R28). When a command
 * fails or takes longer than `answerMs`, Redis is away: no command is sent and nobody waits, until a probe in the background
 * has found Redis well again.
 */
export class RedisConnection extends Context.Service<
  RedisConnection,
  {
    readonly run: <A>(command: RedisCommand<A>) => Effect.Effect<A, RedisAway>
    /** Sends a command without waiting for its answer. While Redis is away it is not sent. */
    readonly send: (command: RedisCommand<unknown>) => Effect.Effect<void>
    /** True while Redis is away: the present value, and each change. */
    readonly away: Stream.Stream<boolean>
  }
>()("quarry/layers/redis/RedisConnection") {
  static readonly layer = (options: RedisConnectionOptions): Layer.Layer<RedisConnection> =>
    Layer.effect(RedisConnection, make(options))
}
