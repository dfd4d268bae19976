import { Effect, Schedule } from "effect"
import type { Answer } from "./Client.ts"
import { Findings } from "./Findings.ts"
import type { Customer, Store } from "./Store.ts"

interface Logged {
  readonly outcome: string
  readonly credits: number
}

const logOf = Effect.fnUntraced(function* (store: Store, accountIds: ReadonlyArray<string>) {
  const rows = yield* store.sql<Logged & { readonly query: string }>`
    select query, outcome, credits from queries where account_id in ${store.sql.in([...accountIds])}`
  const log = new Map<string, Array<Logged>>()
  for (const { query, ...logged } of rows) log.set(query, [...(log.get(query) ?? []), logged])
  return log
})

/** Describes an error in the log of one search, given what its caller received. Undefined if there is none. */
const faultOf = (told: string | undefined, logged: ReadonlyArray<Logged>): string | undefined => {
  if (logged.length > 1) return `logged ${logged.length} times`
  const [entry] = logged
  if (entry !== undefined && entry.credits !== 1) return `logged with ${entry.credits} credits`
  if (told === undefined) return undefined
  if (told === "refused") return entry === undefined ? undefined : "refused, but logged and charged"
  if (entry === undefined) return "answered, but neither logged nor charged"
  return entry.outcome === told ? undefined : `answered ${told}, but logged ${entry.outcome}`
}

/** Counts by status, such as `200: 17, none: 2`. */
export const tally = (answers: ReadonlyArray<Answer>): string => {
  const counts = new Map<string, number>()
  for (const { error, status } of answers) {
    const name = status === undefined ? `no answer (${error})` : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts]
    .sort()
    .map(([name, count]) => `${name}: ${count}`)
    .join(", ")
}

/**
 * Compares what callers received with the log and the books, once nothing is running (I1 to I5): searches answered with
 * 200, 502 or 504 were charged and logged once, rejected ones never, unanswered ones at most once, and nothing else is
 * in the log.
 */
export const audit = Effect.fnUntraced(function* (
  store: Store,
  customers: ReadonlyArray<Customer>,
  answers: ReadonlyArray<Answer>
) {
  const findings = yield* Findings
  const log = yield* logOf(
    store,
    customers.map(({ accountId }) => accountId)
  )
  let logged = 0
  for (const answer of answers) {
    let charged = 0
    for (const { outcome, query } of answer.asked) {
      const entries = log.get(query) ?? []
      log.delete(query)
      charged += entries.length
      const fault = faultOf(outcome, entries)
      if (fault !== undefined) yield* findings.violation(`${answer.status} "${query}": ${fault}`)
    }
    logged += charged
    if (answer.status === 200 && answer.creditsUsed !== charged) {
      yield* findings.violation(
        `X-Credits-Used ${answer.creditsUsed}, but ${charged} are logged: ${answer.asked[0]?.query}`
      )
    }
  }
  for (const query of log.keys()) yield* findings.violation(`"${query}" is logged, but nobody asked for it`)
  yield* verified(store)
  yield* findings.note(`audit: ${answers.length} requests (${tally(answers)}), ${logged} searches charged`)
})

/** Checks that the books are consistent. Works while searches run. */
export const verified = Effect.fnUntraced(function* (store: Store) {
  const findings = yield* Findings
  for (const it of yield* store.ledger.verify) {
    yield* findings.violation(`ledger verify: ${it.accountId} ${it.what}: expected ${it.expected}, found ${it.found}`)
  }
})

/** Time in which the credits of a crashed process must return (R29), which also exceeds the lease of a live one. */
const longestHoldMs = 120_000

const holdCount = (store: Store) =>
  Effect.map(store.sql<{ readonly n: number }>`select count(*)::integer as n from holds`, ([row]) => row?.n ?? 0)

/** Waits until every hold has ended, which must happen within two minutes of the last request. */
export const holdsEnd = Effect.fnUntraced(function* (store: Store) {
  const findings = yield* Findings
  const left = yield* holdCount(store)
  const startedAt = performance.now()
  const remaining = yield* holdCount(store).pipe(
    Effect.repeat({ until: (n) => n === 0, schedule: Schedule.spaced("500 millis") }),
    Effect.timeoutOption(longestHoldMs)
  )
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  if (remaining._tag === "None") {
    yield* findings.violation(`${yield* holdCount(store)} holds are left after ${longestHoldMs / 1000} s`)
  } else yield* findings.note(`${left} holds were left; all had ended ${seconds} s later`)
})

/** Ends the leases of all holds now, where a run must not wait for them. */
export const endLeases = (store: Store) => store.sql`update holds set expires_at = clock_timestamp()`

/** Maximum time from the end of a lease to the sweep while the database is up. */
const sweepSeconds = 15

/** The same after the database's return. An earlier sweep first has to time out on its dead connection. */
const sweepAfterReturnSeconds = 40

/** Time since which the replicas have reached their database. Undefined while they cannot, and so cannot sweep. */
export type Reached = () => Date | undefined

/**
 * Monitors a live system: the books are always consistent, and no hold is older than two minutes. Pauses while the
 * database is down.
 */
export const watch = (store: Store, reached: Reached = () => new Date(0)) =>
  Effect.gen(function* () {
    const findings = yield* Findings
    const since = reached()
    const old = yield* store.sql<{ readonly n: number }>`
      select count(*)::integer as n from holds
      where ${since !== undefined} and clock_timestamp() > greatest(
        expires_at + make_interval(secs => ${sweepSeconds}),
        ${since ?? new Date(0)}::timestamptz + make_interval(secs => ${sweepAfterReturnSeconds})
      )`
    if ((old[0]?.n ?? 0) > 0) yield* findings.violation(`${old[0]?.n} holds are older than two minutes`)
    yield* verified(store)
  }).pipe(Effect.exit, Effect.repeat(Schedule.spaced("2 seconds")))
