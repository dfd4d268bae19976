import { Effect, Fiber } from "effect"
import type { Answer, Client } from "./Client.ts"
import type { Customer } from "./Store.ts"

/** A search without a response after this time counts as lost. */
const patienceMs = 30_000

let asked = 0

/**
 * Sends searches at a fixed rate, whether or not earlier ones were answered, so that a stalled server delays all of
 * them. `elapsedMs` counts from the time at which a search was due.
 */
export const run = Effect.fnUntraced(function* (options: {
  readonly client: Client
  /** Addresses that receive the searches in turn. */
  readonly replicas: ReadonlyArray<{ readonly url: string }>
  readonly customers: ReadonlyArray<Customer>
  readonly perSecond: number
  readonly seconds: number
  /** Ends the run early, if its duration is not known in advance. */
  readonly isOver?: () => boolean
}) {
  const { client, customers, isOver, perSecond, replicas, seconds } = options
  const urlOf = (n: number) => replicas[n % replicas.length]?.url ?? ""
  const secretOf = (n: number) => customers[n % customers.length]?.secret ?? ""
  const startedAt = performance.now()
  const searches: Array<Fiber.Fiber<Answer>> = []
  for (let n = 0; n < perSecond * seconds && isOver?.() !== true; n++) {
    const dueAt = startedAt + (n * 1000) / perSecond
    const early = dueAt - performance.now()
    if (early > 0) yield* Effect.sleep(early)
    const query = `honest ${++asked}`
    const lost: Answer = {
      status: undefined,
      error: `none within ${patienceMs / 1000} s`,
      creditsUsed: undefined,
      asked: [{ query, outcome: undefined }],
      elapsedMs: patienceMs,
      startedAt: dueAt,
      endedAt: dueAt + patienceMs
    }
    const search = client.search(urlOf(n), secretOf(n), query).pipe(
      Effect.map((answer) => ({ ...answer, startedAt: dueAt, elapsedMs: answer.endedAt - dueAt })),
      Effect.timeoutOrElse({ duration: patienceMs, orElse: () => Effect.succeed(lost) })
    )
    searches.push(yield* Effect.forkChild(search))
  }
  return yield* Effect.forEach(searches, Fiber.join)
})

/** Percentile of the response times in milliseconds, for a share from 0 to 1. */
const percentile = (answers: ReadonlyArray<Answer>, share: number): number => {
  const sorted = answers.map(({ elapsedMs }) => elapsedMs).sort((one, other) => one - other)
  return Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)
}

export const p50 = (answers: ReadonlyArray<Answer>): number => percentile(answers, 0.5)

export const p99 = (answers: ReadonlyArray<Answer>): number => percentile(answers, 0.99)
