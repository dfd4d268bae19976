import { Clock, Context, Effect, Exit, Fiber, Layer, Result, type Tracer } from "effect"
import { type AccountPrincipal, boundsOf } from "../../domain/accounts/Principal.ts"
import type { QuotaExceeded, UnsupportedParameter } from "../../domain/errors.ts"
import { forbiddenTarget } from "../../domain/keys/KeyBounds.ts"
import { type PageResult, toPageResult } from "../../domain/pages/PageBody.ts"
import type { PageRequest } from "../../domain/pages/PageRequest.ts"
import type { LogEntry } from "../../domain/search/LogEntry.ts"
import { pageTarget } from "../../domain/search/Target.ts"
import { type LedgerTimings, makeMetering, type OpenHold, type Receipt, type Replay } from "../credits/Metering.ts"
import { Ids } from "../Ids.ts"
import { keyedRequest, waitForFirst } from "../search/Idempotency.ts"
import type { KeyError } from "../search/Search.ts"
import { RequestId } from "../telemetry/RequestId.ts"
import { describeOutcome, describePage, TraceQueryText, withSpan } from "../telemetry/Tracing.ts"
import { countPage, PageReader, toPageEntry } from "./PageReader.ts"
import type { ReadFailure } from "./PageReaders.ts"
import { PageSettings } from "./PageSettings.ts"

export interface PageSettlement {
  readonly body: Result.Result<PageResult, ReadFailure>
  readonly receipt: Receipt
  /** Undefined for a replay (R44). */
  readonly entry: LogEntry | undefined
  readonly timings: LedgerTimings
}

/** Errors before the page is read: no credits, or a key that may not read pages (R50). */
export type PageError = QuotaExceeded | UnsupportedParameter

type OnStart<E> = (settlement: Fiber.Fiber<PageSettlement, E>) => void

export class Pages extends Context.Service<
  Pages,
  {
    /**
     * Reserves a credit, reads the page and settles. Only pages that were read are charged. Interrupting the caller
     * does not stop a page that is being read. `onStart` receives the fiber that settles it.
     */
    readonly read: (
      principal: AccountPrincipal,
      request: PageRequest,
      onStart?: OnStart<PageError>
    ) => Effect.Effect<PageSettlement, PageError>
    /** `read` for a request with an idempotency key (R44): a charged page is replayed for free. */
    readonly readKeyed: (
      principal: AccountPrincipal,
      request: PageRequest,
      key: string,
      onStart?: OnStart<PageError | KeyError>
    ) => Effect.Effect<PageSettlement, PageError | KeyError>
  }
>()("quarry/services/pages/Pages") {
  static readonly layer = Layer.effect(
    Pages,
    Effect.gen(function* () {
      const deps: Deps = { metering: yield* makeMetering, ids: yield* Ids, reader: yield* PageReader }
      const scope = yield* Effect.scope
      const { timeout } = yield* PageSettings

      // Runs in its own fiber and span: interrupting the caller ends only the wait.
      const start = <E>(
        principal: AccountPrincipal,
        request: PageRequest,
        reserve: Effect.Effect<OpenHold | Replay, E>,
        onStart: OnStart<E | UnsupportedParameter> | undefined
      ) =>
        Effect.flatMap(
          Effect.forkIn(
            withSpan("Pages.read", {}, (span) => readOne(deps, principal, request, span, reserve)),
            scope,
            { startImmediately: true }
          ),
          (fiber) => {
            onStart?.(fiber)
            return Fiber.join(fiber)
          }
        )

      return Pages.of({
        read: (principal, request, onStart) => start(principal, request, deps.metering.reserve(principal, 1), onStart),
        readKeyed: (principal, request, key, onStart) => {
          const reserve = deps.metering.reserveKeyed(principal, 1, keyedRequest("page", key, request))
          return waitForFirst(timeout)(start(principal, request, reserve, onStart))
        }
      })
    })
  )
}

interface Deps {
  readonly metering: Effect.Success<typeof makeMetering>
  readonly ids: Ids["Service"]
  readonly reader: PageReader["Service"]
}

/** Unchecked: the text is the JSON of a result (R44). */
const replay = ({ receipt, text }: Replay, span: Tracer.Span, reserveMs: number): PageSettlement => {
  describeOutcome(span, { outcome: "ok", credits: 0, cached: false, dispatched: false })
  return { body: Result.succeed(JSON.parse(text)), receipt, entry: undefined, timings: { reserveMs, settleMs: 0 } }
}

/** Only the read can be interrupted, so that every hold is settled. */
const readOne = Effect.fnUntraced(function* <E>(
  { ids, reader }: Deps,
  principal: AccountPrincipal,
  request: PageRequest,
  span: Tracer.Span,
  reserve: Effect.Effect<OpenHold | Replay, E>
): Effect.fn.Return<PageSettlement, E | UnsupportedParameter> {
  describePage(span, request.url, yield* TraceQueryText)
  const allowed = boundsOf(principal)?.targets
  if (allowed?.includes(pageTarget) === false) return yield* forbiddenTarget(pageTarget, allowed)
  const clock = yield* Clock.Clock
  const startedAt = clock.currentTimeMillisUnsafe()
  const hold = yield* reserve
  const reserveMs = clock.currentTimeMillisUnsafe() - startedAt
  if ("text" in hold) return replay(hold, span, reserveMs)
  const exit = yield* Effect.exit(Effect.interruptible(reader.read(principal, request)))
  if (Exit.isFailure(exit)) {
    yield* hold.settle([])
    return yield* Effect.failCause(exit.cause)
  }
  const place = { id: yield* ids.make("pag_"), batchId: undefined, rowIndex: undefined, requestId: yield* RequestId }
  const entry = toPageEntry(principal, request, place, exit.value)
  yield* countPage("page", entry)
  describeOutcome(span, { ...entry, dispatched: true })
  const answeredAt = clock.currentTimeMillisUnsafe()
  const body = Result.map(exit.value.copy, (copy) => toPageResult(entry.id, request, copy))
  const receipt = yield* hold.settle([entry], () => JSON.stringify(Result.getOrUndefined(body)))
  const settleMs = clock.currentTimeMillisUnsafe() - answeredAt
  return { body, receipt, entry, timings: { reserveMs, settleMs } }
}, Effect.uninterruptible)
