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
import { observe } from "../../services/telemetry/Instrument.ts"
import { databaseDuration, redisAway } from "../../services/telemetry/Metrics.ts"
import {
  codeOf,
  connect,
  isAddressFault,
  makeClient,
  makeWriter,
  messageOf,
  missingRight,
  noConnection,
  probe,
  type RedisClient
} from "./RedisClient.ts"

/** Redis failed or did not respond in time. No command is sent until it recovers. */
export class RedisAway extends Data.TaggedError("RedisAway") {}

export class RedisUnusable extends OperatorError("RedisUnusable") {
  static because(message: string): RedisUnusable {
    const reason = message.replace(/\.$/, "")
    return new RedisUnusable({ message: `Redis rejected the login or the database in REDIS_URL (${reason}).` })
  }

  static lacking(message: string): RedisUnusable {
    const reason = message.replace(/\.$/, "")
    return new RedisUnusable({
      message: `The user in REDIS_URL lacks a right (${reason}). docs/operate/redis.md lists the commands that it needs.`
    })
  }
}

const defaultAnswerMs = 100

export interface RedisConnectionOptions {
  /** A `redis://` or `rediss://` URL, or several separated by commas for the nodes of a Redis Cluster. */
  readonly url: Redacted.Redacted
  readonly answerMs?: number
}

const probeEveryMs = 250

/** Limit for repeated relapses: a full Redis accepts a probe whenever a key has expired, and then fails commands. */
const maxPauseMs = 30_000

const relapseLogMs = 60_000

/** Time without failures after which Redis counts as recovered. Grows with the pause, until pauses are rare. */
const stableMs = (pauseMs: number): number => Math.max(5_000, pauseMs * 10)

type RedisCommand<A> = (client: RedisClient) => Promise<A>

type OnAnswer<A> = (answer: Result.Result<A, string>) => void

const unanswered = "no answer in time"

/** The label `error.type` of a command: empty on success, otherwise Redis's own code if it gave one. */
const errorType = (answer: Result.Result<unknown, string>): string => {
  if (Result.isSuccess(answer)) return ""
  return answer.failure === unanswered ? "timeout" : (codeOf(answer.failure) ?? "unavailable")
}

type Cancel = () => void

/** Does not use `domain/providers/CoolDown.ts`: a background probe, never a request, finds out that Redis is back. */
interface State {
  readonly client: RedisClient
  readonly answerMs: number
  readonly writer: ReturnType<typeof makeWriter>
  awayReason: string | undefined
  readonly awayLatch: Latch.Latch
  readonly awayChanges: SubscriptionRef.SubscriptionRef<boolean>
  connectionError: string
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
 * Calls `onAnswer` once. At the timeout, reads responses that have already arrived, and gives a corked command more
 * time, so that a process that was busy for 100 ms does not take Redis for slow.
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

const awaitReturn = Effect.fnUntraced(function* (state: State, pauseMs: number) {
  yield* SubscriptionRef.set(state.awayChanges, true)
  yield* Effect.sleep(pauseMs)
  yield* Effect.retry(sendProbe(state), Schedule.spaced(probeEveryMs))
  state.awayLatch.closeUnsafe()
  state.awayReason = undefined
  yield* SubscriptionRef.set(state.awayChanges, false)
})

const watchOnce = Effect.fnUntraced(function* (state: State) {
  yield* state.awayLatch.await
  const since = yield* Clock.currentTimeMillis
  yield* Effect.logWarning(`Redis is down (${state.awayReason}). This process works without it until it recovers.`)
  yield* awaitReturn(state, probeEveryMs)
  const awayMs = (yield* Clock.currentTimeMillis) - since
  yield* Effect.logInfo(`Redis is up again after ${Duration.format(Duration.millis(awayMs))}.`)
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
        `Redis is down again (${state.awayReason}). While it keeps failing soon after it recovers, this process ` +
          `works without it for up to ${pause} at a time.`
      )
    }
    yield* awaitReturn(state, pauseMs)
  }
  if (pauseMs > probeEveryMs) yield* Effect.logInfo("Redis has recovered.")
})

/** Startup continues if Redis is down, but fails if REDIS_URL is wrong. */
const start = Effect.fnUntraced(function* (state: State) {
  yield* observe(redisAway.of(), () => (state.awayReason === undefined ? 0 : 1))
  yield* connect(state.client)
  yield* Effect.catch(sendProbe(state), (reason) => Effect.sync(() => markAway(state, reason)))
  const { awayReason } = state
  const fault = awayReason !== undefined && isAddressFault(awayReason) ? awayReason : state.addressFault
  if (fault !== undefined) return yield* Effect.die(RedisUnusable.because(fault))
  if (awayReason === undefined) {
    const missing = yield* Effect.promise(() => missingRight(state.client))
    if (missing !== undefined) return yield* Effect.die(RedisUnusable.lacking(missing))
  }
  yield* Effect.forkScoped(Effect.forever(watchOnce(state)))
})

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

/** Callers can do without Redis (R28). After a failure or `answerMs`, commands fail until a probe succeeds. */
export class RedisConnection extends Context.Service<
  RedisConnection,
  {
    readonly run: <A>(command: RedisCommand<A>) => Effect.Effect<A, RedisAway>
    readonly send: (command: RedisCommand<unknown>) => Effect.Effect<void>
    readonly away: Stream.Stream<boolean>
  }
>()("quarry/layers/redis/RedisConnection") {
  static readonly layer = (options: RedisConnectionOptions): Layer.Layer<RedisConnection> =>
    Layer.effect(RedisConnection, make(options))
}
