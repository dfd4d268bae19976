import { type Duration, Effect, Schedule } from "effect"
import type { Allowance } from "../../domain/credits/Allowance.ts"
import { type IdempotencyInProgress, type InvalidRequest, idempotencyInProgress } from "../../domain/errors.ts"
import { lostAnswer, reusedKey } from "../../domain/search/IdempotencyKey.ts"
import type { Hold, KeyedRequest, KeyedReservation } from "../credits/Ledger.ts"

export type KeyError = InvalidRequest | IdempotencyInProgress

/** Requests are equal if their decoded forms are, regardless of their formatting. */
export const keyedRequest = (route: KeyedRequest["route"], key: string, decoded: unknown): KeyedRequest => ({
  route,
  key,
  content: JSON.stringify(decoded)
})

export const holdOrAnswer = (
  reservation: KeyedReservation
): Effect.Effect<{ readonly hold: Hold } | { readonly text: string; readonly allowance: Allowance }, KeyError> => {
  switch (reservation._tag) {
    case "held":
      return Effect.succeed({ hold: reservation.hold })
    case "answered": {
      const { allowance, text } = reservation
      return text === undefined ? Effect.fail(lostAnswer) : Effect.succeed({ text, allowance })
    }
    case "running":
      return Effect.fail(idempotencyInProgress)
    case "different":
      return Effect.fail(reusedKey)
  }
}

/** Backs off: most searches end within a second, and another replica may run the first request. */
const backoff = Schedule.min([Schedule.exponential("25 millis"), Schedule.spaced("500 millis")])

/** Retries while the first request with the same key is running, for at most the time limit of one. */
export const waitForFirst =
  (timeLimit: Duration.Duration) =>
  <A, E, R>(attempt: Effect.Effect<A, E | IdempotencyInProgress, R>): Effect.Effect<A, E | IdempotencyInProgress, R> =>
    Effect.retry(attempt, {
      while: (error) => error === idempotencyInProgress,
      schedule: Schedule.upTo(backoff, { duration: timeLimit })
    })
