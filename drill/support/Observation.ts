import { Effect, Fiber } from "effect"
import * as Audit from "../../torture/support/Audit.ts"
import type { Answer } from "../../torture/support/Client.ts"
import * as Pace from "../../torture/support/Pace.ts"
import type { Deployment } from "./Deployment.ts"

/** Searches a second while something fails: few enough that two processors carry them beside everything else. */
export const perSecond = 40
/** Node compiles what is hot only then. */
const warmUpSeconds = 2

/** A drill as its callers saw it. */
export interface Observation {
  readonly requests: number
  /** Requests without an answer, and answers of 500 and above that are not a provider's failure (502, 504 of ours). */
  readonly failed: number
  /** Answers by status. */
  readonly statuses: string
  readonly p99Ms: number
  /** From the end of the failure to the end of the last request that it failed. */
  readonly recoveryMs: number
  /** Further findings of the drill. */
  readonly notes: ReadonlyArray<string>
}

/** A failure by the service or the proxy. 502 and 504 with credits are answers about a provider (R14). */
const hasFailed = ({ creditsUsed, status }: Answer): boolean =>
  status === undefined || (status >= 500 && creditsUsed !== 1)

export const summary = (
  answers: ReadonlyArray<Answer>,
  mendedAt: number,
  notes: ReadonlyArray<string> = []
): Observation => {
  const failures = answers.filter(hasFailed)
  return {
    requests: answers.length,
    failed: failures.length,
    statuses: Audit.tally(answers),
    p99Ms: Pace.p99(answers),
    recoveryMs: Math.max(0, ...failures.map(({ endedAt }) => Math.round(endedAt - mendedAt))),
    notes
  }
}

/** Compares the credits in the answers with the log and the books, once every hold has ended. */
export const checkBooks = Effect.fnUntraced(function* (
  { customers, store }: Pick<Deployment, "customers" | "store">,
  answers: ReadonlyArray<Answer>,
  options: { readonly short: boolean }
) {
  if (options.short) yield* Audit.endLeases(store)
  yield* Audit.holdsEnd(store)
  yield* Audit.audit(store, customers, answers)
})

/**
 * Searches at an even pace before, during and after a failure. `failure` ends when the failure is over: its end is where
 * recovery begins.
 */
export const during = Effect.fnUntraced(function* <A, E, R>(
  deployment: Deployment,
  options: { readonly failureSeconds: number; readonly afterSeconds: number; readonly short: boolean },
  failure: Effect.Effect<A, E, R>
) {
  const { client, customers, fronts } = deployment
  const pace = { client, customers, perSecond, replicas: fronts }
  const warmUp = yield* Pace.run({ ...pace, seconds: warmUpSeconds })
  const seconds = options.failureSeconds + options.afterSeconds
  const paced = yield* Effect.forkChild(Pace.run({ ...pace, seconds }))
  yield* Effect.sleep("1 second")
  yield* failure
  const mendedAt = performance.now()
  const answers = yield* Fiber.join(paced)
  yield* checkBooks(deployment, [...warmUp, ...answers], options)
  return summary(answers, mendedAt)
})
