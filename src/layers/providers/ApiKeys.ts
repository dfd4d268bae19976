import { Clock, Effect, type Redacted, Schema } from "effect"
import { coolDownMs } from "../../services/Breaker.ts"
import { Refusal } from "../../services/Provider.ts"

const keyRule = { message: "must be a key of printable ASCII characters" }

const ApiKey = Schema.RedactedFromValue(Schema.String.annotate(keyRule).check(Schema.isPattern(/^[!-~]+$/, keyRule)))

/** One key, or several of which the first that is not refused is used. */
export const options = {
  apiKey: Schema.optionalKey(ApiKey),
  apiKeys: Schema.optionalKey(
    Schema.Array(ApiKey)
      .annotate({ message: "must be a list of keys" })
      .check(Schema.isMinLength(1, { message: "must name at least one key" }))
  )
}

type Chosen = { readonly apiKey?: Redacted.Redacted; readonly apiKeys?: ReadonlyArray<Redacted.Redacted> }

export const keysOf = ({ apiKey, apiKeys }: Chosen): ReadonlyArray<Redacted.Redacted> =>
  apiKeys ?? (apiKey === undefined ? [] : [apiKey])

export const oneWay = (required: boolean) =>
  Schema.makeFilter(({ apiKey, apiKeys }: Chosen) => {
    if (apiKey !== undefined && apiKeys !== undefined)
      return { path: ["apiKeys"], issue: "stands beside apiKey: keep one" }
    if (required && apiKey === undefined && apiKeys === undefined) return { path: ["apiKey"], issue: "is missing" }
    return true
  })

/** Refusals that are about the key and not about the provider. */
const aboutKey: ReadonlySet<Refusal["reason"]> = new Set(["quota", "rate_limited", "unauthorized"])

/** Makes a call with a key that the provider has not refused of late, and with the next when it refuses this one. */
export type WithKey = <A>(call: (key: Redacted.Redacted) => Effect.Effect<A, Refusal>) => Effect.Effect<A, Refusal>

interface KeyState {
  readonly key: Redacted.Redacted
  readonly place: string
  /** In a row. */
  refusals: number
  refused: { readonly refusal: Refusal; readonly until: number } | undefined
}

export const make = (provider: string, keys: ReadonlyArray<Redacted.Redacted>): WithKey => {
  const states = keys.map(
    (key, index): KeyState => ({ key, place: `key ${index + 1} of ${keys.length}`, refusals: 0, refused: undefined })
  )

  const cool = Effect.fnUntraced(function* (state: KeyState, refusal: Refusal) {
    const now = yield* Clock.currentTimeMillis
    const ms = coolDownMs(refusal, state.refusals)
    // Calls that were in flight together are refused together, and count once.
    if (state.refused === undefined || state.refused.until <= now) state.refusals += 1
    state.refused = { refusal, until: now + ms }
    const log = refusal.reason === "unauthorized" ? Effect.logError : Effect.logWarning
    if (keys.length > 1)
      yield* log(`Provider ${provider} refuses ${state.place} as ${refusal.reason}: unused for ${ms} ms`)
  })

  /** All are cooling down: the one that is back first tells why, and when. */
  const allRefused = (now: number): Refusal => {
    const refused = states.flatMap(({ refused }) => (refused === undefined ? [] : [refused]))
    const [soonest] = refused.sort((a, b) => a.until - b.until)
    return new Refusal({
      reason: soonest?.refusal.reason ?? "unauthorized",
      message: `it refuses all ${keys.length} keys: ${soonest?.refusal.message}`,
      retryAfterMs: Math.max(0, (soonest?.until ?? now) - now)
    })
  }

  return (call) =>
    Effect.gen(function* () {
      for (const state of states) {
        // A single key is left to the provider's breaker.
        const now = yield* Clock.currentTimeMillis
        if (keys.length > 1 && state.refused !== undefined && state.refused.until > now) continue
        const outcome = yield* Effect.result(call(state.key))
        if (outcome._tag === "Success") {
          state.refusals = 0
          state.refused = undefined
          return outcome.success
        }
        if (!aboutKey.has(outcome.failure.reason) || keys.length === 1) return yield* outcome.failure
        yield* cool(state, outcome.failure)
      }
      return yield* allRefused(yield* Clock.currentTimeMillis)
    })
}
