import { Clock, Effect, type Redacted, Schema } from "effect"
import * as CoolDown from "../../domain/providers/CoolDown.ts"
import { Refusal } from "../../domain/providers/Refusal.ts"

const keyRule = { message: "must be a key of printable ASCII characters" }

const ApiKey = Schema.RedactedFromValue(Schema.String.annotate(keyRule).check(Schema.isPattern(/^[!-~]+$/, keyRule)))

export const options = {
  apiKey: Schema.optionalKey(ApiKey),
  apiKeys: Schema.optionalKey(
    Schema.Array(ApiKey)
      .annotate({ message: "must be a list of keys" })
      .check(Schema.isMinLength(1, { message: "must name at least one key" }))
  )
}

export type Chosen = { readonly apiKey?: Redacted.Redacted; readonly apiKeys?: ReadonlyArray<Redacted.Redacted> }

export const keysOf = ({ apiKey, apiKeys }: Chosen): ReadonlyArray<Redacted.Redacted> =>
  apiKeys ?? (apiKey === undefined ? [] : [apiKey])

export const oneWay = (required: boolean) =>
  Schema.makeFilter(({ apiKey, apiKeys }: Chosen) => {
    if (apiKey !== undefined && apiKeys !== undefined)
      return { path: ["apiKeys"], issue: "cannot be combined with apiKey: keep only one of them" }
    if (required && apiKey === undefined && apiKeys === undefined) return { path: ["apiKey"], issue: "is missing" }
    return true
  })

const aboutKey: ReadonlySet<Refusal["reason"]> = new Set(["quota", "rate_limited", "unauthorized"])

/** Uses the first key that is not cooling down, and moves on to the next if the provider refuses the key. */
export type WithKey = <A>(call: (key: Redacted.Redacted) => Effect.Effect<A, Refusal>) => Effect.Effect<A, Refusal>

interface KeyState {
  readonly key: Redacted.Redacted
  /** Names the key in logs, because the key itself is a secret. */
  readonly place: string
  coolDown: CoolDown.CoolDown
  lastRefusal: Refusal | undefined
}

export const make = (provider: string, keys: ReadonlyArray<Redacted.Redacted>): WithKey => {
  const states = keys.map(
    (key, index): KeyState => ({
      key,
      place: `key ${index + 1} of ${keys.length}`,
      coolDown: CoolDown.closed,
      lastRefusal: undefined
    })
  )

  const cool = Effect.fnUntraced(function* (state: KeyState, refusal: Refusal) {
    const now = yield* Clock.currentTimeMillis
    state.coolDown = CoolDown.recordRefusal(state.coolDown, CoolDown.providerPolicy, refusal, now)
    state.lastRefusal = refusal
    const log = refusal.reason === "unauthorized" ? Effect.logError : Effect.logWarning
    const ms = (state.coolDown.until ?? now) - now
    yield* log(`Provider ${provider} refused ${state.place} (${refusal.reason}). The key is not used for ${ms} ms`)
  })

  const allRefused = (now: number): Refusal => {
    const [soonest] = states.toSorted((a, b) => (a.coolDown.until ?? 0) - (b.coolDown.until ?? 0))
    return new Refusal({
      reason: soonest?.lastRefusal?.reason ?? "unauthorized",
      message: `it refused all ${keys.length} keys: ${soonest?.lastRefusal?.message}`,
      retryAfterMs: Math.max(0, (soonest?.coolDown.until ?? now) - now)
    })
  }

  return (call) =>
    Effect.gen(function* () {
      for (const state of states) {
        // A single key does not cool down itself: the provider's cool-down covers it.
        const now = yield* Clock.currentTimeMillis
        if (keys.length > 1 && CoolDown.phase(state.coolDown, now) === "open") continue
        const outcome = yield* Effect.result(call(state.key))
        if (outcome._tag === "Success") {
          state.coolDown = CoolDown.closed
          return outcome.success
        }
        if (!aboutKey.has(outcome.failure.reason) || keys.length === 1) return yield* outcome.failure
        yield* cool(state, outcome.failure)
      }
      return yield* allRefused(yield* Clock.currentTimeMillis)
    })
}
