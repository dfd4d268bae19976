import { availableParallelism } from "node:os"
import { Clock, Deferred, Duration, Effect, Fiber, Layer, Metric } from "effect"
import { FairQueue } from "../../domain/pages/FairQueue.ts"
import { type Document, type ParsedPage, ParseFailure } from "../../domain/pages/Page.ts"
import { PageParser } from "../../services/pages/PageParser.ts"
import { observe } from "../../services/telemetry/Instrument.ts"
import { pageParseDuration, pageParserRestarts, pageParserWaiting } from "../../services/telemetry/Metrics.ts"
import type { ParseReply } from "./messages.ts"
import { type Ended, type ParserThread, startThread } from "./ParserThread.ts"

export interface PageParserOptions {
  readonly workers: number
  readonly maxWait: Duration.Duration
}

/** Leaves one core to the event loop. */
export const defaultWorkers = (): number => Math.max(1, availableParallelism() - 1)

const limits = {
  parse: Duration.seconds(5),
  /** Grace period for a document whose caller left. Most finish in time, and a new thread costs more. */
  abandoned: Duration.millis(200),
  pause: Duration.seconds(1),
  waiting: { items: 1_000, bytes: 64 * 1024 * 1024 }
}

type Turn = Deferred.Deferred<ParserThread, ParseFailure>

const timedOut = new ParseFailure({ reason: "timed_out" })
const tooLarge = new ParseFailure({ reason: "too_large" })

const isEnded = (outcome: ParseReply | Ended): outcome is Ended => "ended" in outcome

class Pool {
  readonly queue = new FairQueue<Turn>(limits.waiting)
  readonly #free: Array<ParserThread> = []
  #started = 0
  #starting = 0
  readonly #workers: number

  constructor(workers: number) {
    this.#workers = workers
  }

  readonly dispatch: Effect.Effect<void> = Effect.suspend(() => {
    while (this.queue.size > 0) {
      const thread = this.#free.pop()
      if (thread === undefined) break
      const next = this.queue.take()
      if (next !== undefined) Deferred.doneUnsafe(next.item, Effect.succeed(thread))
    }
    if (this.queue.size <= this.#starting || this.#started >= this.#workers) return Effect.void
    this.#started++
    this.#starting++
    return Effect.andThen(Effect.forkDetach(this.#start), this.dispatch)
  })

  readonly #start: Effect.Effect<void> = Effect.flatMap(startThread, (thread) => {
    this.#starting--
    if (thread !== undefined) return this.giveBack(thread)
    this.#started--
    return Effect.andThen(
      Effect.logError("A parser thread could not be started"),
      Effect.delay(this.dispatch, limits.pause)
    )
  })

  readonly giveBack = (thread: ParserThread): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (thread.isRunning()) this.#free.push(thread)
      else this.#started--
      return this.dispatch
    })

  readonly stopAll = Effect.suspend(() => Effect.forEach(this.#free, ({ stop }) => stop, { discard: true }))
}

const restartReasons = ["time", "memory", "abandoned", "crashed"] as const

const restart = (thread: ParserThread, reason: (typeof restartReasons)[number]) =>
  Effect.andThen(Metric.update(pageParserRestarts.of(reason), 1), thread.stop)

const toPage = (reply: ParseReply, { url }: Document): Effect.Effect<ParsedPage, ParseFailure> => {
  if ("page" in reply) return Effect.succeed(reply.page)
  const failure = Effect.fail(new ParseFailure({ reason: reply.reason }))
  if (reply.problem === undefined) return failure
  const host = URL.parse(url)?.host ?? ""
  return Effect.andThen(Effect.logWarning(`A page of ${host} could not be parsed: ${reply.problem}`), failure)
}

const parseOn = (thread: ParserThread, document: Document) =>
  Effect.gen(function* () {
    const { contentType, url } = document
    // Copied, because the thread takes ownership of the memory, which the caller's buffer may share.
    const bytes = new Uint8Array(document.bytes)
    const running = yield* Effect.forkDetach(thread.run({ bytes, contentType, url }))
    const outcome = yield* Fiber.join(running).pipe(
      Effect.timeoutOption(limits.parse),
      Effect.onInterrupt(() =>
        Effect.timeoutOrElse(Effect.asVoid(Fiber.join(running)), {
          duration: limits.abandoned,
          orElse: () => restart(thread, "abandoned")
        })
      )
    )
    if (outcome._tag === "None") {
      yield* restart(thread, "time")
      return yield* tooLarge
    }
    if (!isEnded(outcome.value)) return yield* toPage(outcome.value, document)
    yield* restart(thread, outcome.value.ended)
    return yield* tooLarge
  })

const make = ({ maxWait, workers }: PageParserOptions) =>
  Effect.gen(function* () {
    const pool = new Pool(workers)
    yield* Effect.addFinalizer(() => pool.stopAll)
    yield* observe(pageParserWaiting.of(), () => pool.queue.size)
    // Starts at 0, because a counter that first appears with 1 shows no increase.
    yield* Effect.forEach(restartReasons, (reason) => Metric.update(pageParserRestarts.of(reason), 0), {
      discard: true
    })

    const enter = (document: Document) =>
      Effect.suspend(() => {
        const turn: Turn = Deferred.makeUnsafe()
        for (const pushed of pool.queue.offer(document.accountId, turn, document.bytes.length)) {
          Deferred.doneUnsafe(pushed, Effect.fail(timedOut))
        }
        return Effect.as(pool.dispatch, turn)
      })

    // A thread that was assigned to a document that left goes to the next document.
    const leave = (document: Document, turn: Turn) =>
      Effect.suspend(() => {
        if (pool.queue.remove(document.accountId, turn)) return Effect.void
        return Effect.matchEffect(Deferred.await(turn), {
          onFailure: () => Effect.void,
          onSuccess: (thread) => {
            pool.queue.finish(document.accountId, 0)
            return pool.giveBack(thread)
          }
        })
      })

    const parse = (document: Document): Effect.Effect<ParsedPage, ParseFailure> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const turn = yield* enter(document)
          const waited = Effect.timeoutOrElse(Deferred.await(turn), {
            duration: maxWait,
            orElse: () => Effect.fail(timedOut)
          })
          const thread = yield* Effect.onError(restore(waited), () => leave(document, turn))
          const start = yield* Clock.currentTimeMillis
          return yield* Effect.onExit(restore(parseOn(thread, document)), (exit) =>
            Effect.gen(function* () {
              const ms = (yield* Clock.currentTimeMillis) - start
              yield* Metric.update(pageParseDuration.of(exit._tag === "Success" ? "ok" : "failed"), ms / 1000)
              pool.queue.finish(document.accountId, ms)
              yield* pool.giveBack(thread)
            })
          )
        })
      )

    return PageParser.of({ parse })
  })

export const layer = (options: PageParserOptions): Layer.Layer<PageParser> => Layer.effect(PageParser, make(options))
