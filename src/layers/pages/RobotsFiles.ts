import { Clock, Duration, Effect, type Scope } from "effect"
import { PageUnreadable } from "../../domain/errors.ts"
import type { Payer, Payers } from "../../domain/fairness/Payers.ts"
import { maxRobotsBytes, parseRobots, type RobotsRules } from "../../domain/pages/robots.ts"
import { shareFairly } from "../../services/fairness/shareFairly.ts"
import { Flights } from "../../services/waiting/Flights.ts"
import { BoundedStore, makeSweeping } from "../memory/BoundedStore.ts"
import type { OutgoingResponse } from "../outgoing/Exchange.ts"

export interface RobotsFiles {
  /** Fails if the rules are unknown, in which case the site must not be read. */
  readonly rulesFor: (url: URL, payer: Payer, timeout: Duration.Duration) => Effect.Effect<RobotsRules, PageUnreadable>
}

/** Fetches a URL through redirects and truncates the body to `maxBytes`. Undefined after too many redirects. */
type Get = (
  url: URL,
  payer: Payer,
  timeout: Duration.Duration,
  maxBytes: number
) => Effect.Effect<{ readonly response: OutgoingResponse } | undefined, PageUnreadable>

const lifetime = Duration.hours(24)

const ruleOverheadBytes = 64

const bounds = {
  ttlMs: Duration.toMillis(lifetime),
  capacity: 10_000,
  maxBytes: 32 * 1024 * 1024,
  maxValueBytes: 16 * 1024 * 1024,
  sizeOf: (rules: RobotsRules) => rules.reduce((sum, { pattern }) => sum + 2 * pattern.length + ruleOverheadBytes, 0)
}

const noRules: RobotsRules = []

/** A missing file allows everything, and a server error disallows everything (RFC 9309, 2.3.1). */
const rulesOf = (response: OutgoingResponse | undefined): Effect.Effect<RobotsRules, PageUnreadable> => {
  if (response === undefined || (response.status >= 300 && response.status < 500)) return Effect.succeed(noRules)
  if (response.status >= 500) return Effect.fail(PageUnreadable.because("robots_disallowed"))
  // Copied, because each pattern is a slice of the text and would keep all of it in memory for a day.
  return Effect.sync(() => structuredClone(parseRobots(response.body.toString("utf8"))))
}

/** Caches rules for a day. A failed fetch of robots.txt is repeated for the next page. */
export const makeRobotsFiles = Effect.fnUntraced(function* (
  get: Get
): Effect.fn.Return<RobotsFiles, never, Scope.Scope> {
  const store = new BoundedStore<RobotsRules>(bounds)
  const startSweep = yield* makeSweeping(store)
  const flights = new Flights<RobotsRules, Payers>()
  yield* Effect.addFinalizer(() => flights.interruptAll)

  const read = Effect.fnUntraced(function* (origin: string, payer: Payer, timeout: Duration.Duration) {
    const found = yield* get(new URL("/robots.txt", origin), payer, timeout, maxRobotsBytes)
    const rules = yield* rulesOf(found?.response)
    store.set(origin, rules, yield* Clock.currentTimeMillis)
    yield* startSweep
    return rules
  })

  return {
    rulesFor: ({ origin }, payer, timeout) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const known = store.get(origin, now)
        return known === undefined
          ? shareFairly(flights, origin, payer, (payers) => read(origin, payers, timeout))
          : Effect.succeed(known)
      })
  }
})
