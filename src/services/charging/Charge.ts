import { Effect, Fiber, Result, type Tracer } from "effect"
import { boundsOf, type Principal } from "../../domain/accounts/Principal.ts"
import type { UnsupportedParameter } from "../../domain/errors.ts"
import { forbiddenTarget } from "../../domain/keys/KeyBounds.ts"
import type { LogEntry } from "../../domain/log/LogEntry.ts"
import type { RecordFields } from "../../domain/requests/CurrentRequest.ts"
import type { AnyTarget } from "../../domain/search/Target.ts"
import type { ReserveError } from "../credits/Ledger.ts"
import { addFields, forkRecorded } from "../telemetry/recording.ts"
import { describeOutcome, withSpan } from "../telemetry/Tracing.ts"
import type { OpenHold, Receipt } from "./Metering.ts"

/** The end of a single request: `A` is its body and `F` its failure, which may be charged too. */
export interface Settlement<A, F> {
  readonly body: Result.Result<A, F>
  readonly receipt: Receipt
  /** Undefined for replays and refused requests, which are neither charged nor logged. */
  readonly entry: LogEntry | undefined
}

/** Errors before a request runs: no credits, a key that may not use the target (R50), or unsupported options (R62). */
export type SingleError = ReserveError | UnsupportedParameter

/** Fails if the caller may not use the target (R50, R67). */
export const admitTarget = (principal: Principal, target: AnyTarget): Effect.Effect<void, UnsupportedParameter> => {
  const allowed = boundsOf(principal)?.targets
  if (allowed?.includes(target) !== false) return Effect.void
  const holder = principal._tag === "key" ? "API key" : principal._tag === "oauth" ? "app" : "member"
  return Effect.fail(forbiddenTarget(holder, target, allowed))
}

export const callerOf = (principal: Principal): Pick<LogEntry, "accountId" | "keyId" | "personId"> => ({
  accountId: principal._tag === "demo" ? undefined : principal.account.id,
  keyId: principal._tag === "key" ? principal.key.id : undefined,
  ...("personId" in principal ? { personId: principal.personId } : {})
})

/**
 * Runs the steps of a single request in a fiber and span of their own. Interrupting the caller ends only the wait. Steps
 * can be interrupted only where they say so, so that every hold is settled.
 */
export const makeStart = Effect.map(
  Effect.scope,
  (scope) =>
    <A, E>(spanName: string, steps: (span: Tracer.Span) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.flatMap(
        forkRecorded(
          withSpan(spanName, {}, (span) => Effect.uninterruptible(steps(span))),
          scope
        ),
        Fiber.join
      )
)

/** The end of a request that is not charged: a replay, or a request that could not run. */
export const uncharged = <A, F extends { readonly _tag: string }>(
  span: Tracer.Span,
  body: Result.Result<A, F>,
  receipt: Receipt
): Settlement<A, F> => {
  const outcome = Result.isSuccess(body) ? "ok" : body.failure._tag
  describeOutcome(span, { outcome, credits: 0, cached: false, dispatched: false })
  return { body, receipt, entry: undefined }
}

/** Charges and logs a request. `keep` returns the text that a replay of its idempotency key restores (R44). */
export const charged = Effect.fnUntraced(function* <A, F>(
  span: Tracer.Span,
  hold: OpenHold,
  entry: LogEntry,
  body: Result.Result<A, F>,
  keep: (body: Result.Result<A, F>) => string
): Effect.fn.Return<Settlement<A, F>> {
  describeOutcome(span, { ...entry, dispatched: true })
  const receipt = yield* hold.settle([entry], () => keep(body))
  yield* addFields(fieldsOf(entry))
  return { body, receipt, entry }
})

const fieldsOf = ({ cached, durationMs, page, provider }: LogEntry): RecordFields =>
  page === undefined
    ? { cached, search_ms: durationMs, ...(provider === undefined ? {} : { provider }) }
    : { cached, page_ms: durationMs, ...(page.reason === undefined ? {} : { reason: page.reason }) }
