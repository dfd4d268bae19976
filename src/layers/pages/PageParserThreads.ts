import { availableParallelism } from "node:os"
import { Clock, Duration, Effect, Fiber, Layer, Metric } from "effect"
import { type Document, type ParsedPage, ParseFailure } from "../../domain/pages/Page.ts"
import { FairSlots, type Gate } from "../../services/fairness/FairSlots.ts"
import { PageParser } from "../../services/pages/PageParser.ts"
import { ParserAllowance } from "../../services/pages/ParserAllowance.ts"
import { observe } from "../../services/telemetry/Instrument.ts"
import {
  pageParseDuration,
  pageParserLimited,
  pageParserRestarts,
  pageParserWaiting
} from "../../services/telemetry/Metrics.ts"
import type { ParseReply } from "./messages.ts"
import { type Ended, type ParserThread, startThread } from "./ParserThread.ts"

export interface PageParserOptions {
  readonly workers: number
  readonly maxWait: Duration.Duration
}

/** Leaves one core to the event loop. */
export const defaultWorkers = (): number => Math.max(1, availableParallelism() - 1)

const limits = {
  /** For a document whose thread gets too little of the processor. The thread limits its CPU time. */
  parse: Duration.seconds(60),
  /** Grace period for a document whose caller left. Most finish in time, and a new thread costs more. */
  abandoned: Duration.millis(200),
  /** Started only when one account uses all workers and another waits. */
  spareWorkers: 1,
  /** A larger document may need most of a thread's heap. */
  ordinary: { bytes: 1024 * 1024, tags: 40_000 },
  waiting: { items: 1_000, bytes: 64 * 1024 * 1024 }
}

const timedOut = new ParseFailure({ reason: "timed_out" })
const tooLarge = new ParseFailure({ reason: "too_large" })

const isEnded = (outcome: ParseReply | Ended): outcome is Ended => "ended" in outcome

/** Threads that are not in use. A slot allows the use of one. */
class Pool {
  readonly #free: Array<ParserThread> = []

  readonly take: Effect.Effect<ParserThread, ParseFailure> = Effect.suspend(() => {
    const thread = this.#free.pop()
    if (thread !== undefined) return Effect.succeed(thread)
    return Effect.flatMap(startThread, (started) =>
      started === undefined
        ? Effect.andThen(Effect.logError("A parser thread could not be started"), Effect.fail(timedOut))
        : Effect.succeed(started)
    )
  })

  readonly giveBack = (thread: ParserThread): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (!thread.isRunning()) return thread.stop
      this.#free.push(thread)
      return Effect.void
    })

  readonly stopAll = Effect.suspend(() => Effect.forEach(this.#free, ({ stop }) => stop, { discard: true }))
}

const restartReasons = ["time", "memory", "abandoned", "crashed"] as const

const restart = (thread: ParserThread, reason: (typeof restartReasons)[number]) =>
  Effect.andThen(Metric.update(pageParserRestarts.of(reason), 1), thread.stop)

const lessThan = "<".charCodeAt(0)

const isLarge = ({ bytes }: Document): boolean => {
  let [tags, at] = [0, bytes.indexOf(lessThan)]
  for (; at >= 0 && tags <= limits.ordinary.tags; tags++) at = bytes.indexOf(lessThan, at + 1)
  return bytes.length > limits.ordinary.bytes || tags > limits.ordinary.tags
}

/** Lets one document in at a time. */
const makeGate = (): Gate => {
  let isTaken = false
  return {
    opensAt: (now) => (isTaken ? Number.POSITIVE_INFINITY : now),
    enter: () => {
      isTaken = true
    },
    leave: () => {
      isTaken = false
    }
  }
}

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
      return yield* timedOut
    }
    if (!isEnded(outcome.value)) return yield* toPage(outcome.value, document)
    yield* restart(thread, outcome.value.ended)
    return yield* tooLarge
  })

const make = ({ maxWait, workers }: PageParserOptions) =>
  Effect.gen(function* () {
    const pool = new Pool()
    const allowance = yield* ParserAllowance
    // Several large documents together could need more memory than is left for the process.
    const forLarge = makeGate()
    const slots = new FairSlots({
      slots: workers + limits.spareWorkers,
      slotsPerAccount: workers,
      waiting: limits.waiting,
      full: timedOut
    })
    yield* Effect.addFinalizer(() => pool.stopAll)
    yield* observe(pageParserWaiting.of(), () => slots.waiting)
    // Starts at 0, because a counter that first appears with 1 shows no increase.
    yield* Effect.forEach(restartReasons, (reason) => Metric.update(pageParserRestarts.of(reason), 0), {
      discard: true
    })

    /** Parser time is free only for a page that was parsed, which its reader pays for. */
    const parseFor = (accountId: string, document: Document) =>
      Effect.acquireUseRelease(
        pool.take,
        (thread) =>
          Effect.onExit(parseOn(thread, document), (exit) =>
            Effect.map(Clock.currentTimeMillis, (now) => {
              if (exit._tag === "Failure") allowance.spend(accountId, thread.jobCpuMs(), now)
            })
          ),
        pool.giveBack
      )

    const parse = (document: Document): Effect.Effect<ParsedPage, ParseFailure> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const gate = isLarge(document) ? forLarge : undefined
          const turn = slots.take({ payer: document.accountId, bytes: document.bytes.length, gate })
          const slot = yield* restore(
            Effect.timeoutOrElse(turn, { duration: maxWait, orElse: () => Effect.fail(timedOut) })
          )
          const start = yield* Clock.currentTimeMillis
          if (allowance.retryAfterMs(slot.accountId, start) > 0) {
            yield* Metric.update(pageParserLimited.of(), 1)
            yield* slot.giveBack(0)
            return yield* timedOut
          }
          return yield* Effect.onExit(restore(parseFor(slot.accountId, document)), (exit) =>
            Effect.gen(function* () {
              const ms = (yield* Clock.currentTimeMillis) - start
              yield* Metric.update(pageParseDuration.of(exit._tag === "Success" ? "ok" : "failed"), ms / 1000)
              yield* slot.giveBack(ms)
            })
          )
        })
      )

    return PageParser.of({ parse })
  })

export const layer = (options: PageParserOptions): Layer.Layer<PageParser> => Layer.effect(PageParser, make(options))
