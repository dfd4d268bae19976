import { Effect, Layer, Random, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeSecret } from "../../../src/domain/keys/ApiKey.ts"
import * as MarketplaceProxy from "../../../src/layers/auth/MarketplaceProxy.ts"
import * as KeyStoreSql from "../../../src/layers/sql/keys/KeyStoreSql.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Marketplace } from "../../../src/services/accounts/Marketplace.ts"
import { Ids } from "../../../src/services/Ids.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"
import type { Scenario } from "../Scenario.ts"
import { Findings } from "../support/Findings.ts"
import * as Store from "../support/Store.ts"

/** Tries of each kind in one round. */
const triesPerRound = 100
/** The first tries of each length are slow while the code is being compiled. */
const warmUp = 50
/** Fewer than these have outliers that no bound on t is meant for. */
const minTriesPerLength = 200
/** Beyond it a difference is no chance any more, among as many comparisons as are made here. */
const maxT = 4.5
const lengths = Array.from({ length: 128 }, (_, index) => index + 1)

/** Mean, variance and count of what the machine's other work did not disturb: the slowest twentieth is left out. */
const summary = (times: ReadonlyArray<number>) => {
  const kept = [...times].sort((a, b) => a - b).slice(0, Math.ceil(times.length * 0.95))
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length
  const variance = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (kept.length - 1)
  return { mean, variance, count: kept.length }
}

/** Welch's t of two samples. */
const difference = (one: ReadonlyArray<number>, other: ReadonlyArray<number>) => {
  const [a, b] = [summary(one), summary(other)]
  return { a, b, t: (a.mean - b.mean) / Math.sqrt(a.variance / a.count + b.variance / b.count) }
}

/** Microseconds that a refusal takes. */
const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    yield* Effect.flip(effect)
    return (performance.now() - startedAt) * 1000
  }).pipe(Effect.orDie)

const randomBytes = Effect.map(
  Effect.forEach(Array(32), () => Random.nextIntBetween(0, 255)),
  (bytes) => Uint8Array.from(bytes)
)

/** Secrets that share all but their end with one that is somebody's, and secrets that share nothing with any. */
const keySecrets = Effect.fnUntraced(function* (rounds: number) {
  const findings = yield* Findings
  const store = yield* Store.open((yield* freshDatabase).url)
  const { accountId } = yield* Store.customer(store, { quota: 1 })
  const known = yield* randomBytes
  const ids = Layer.effect(
    Ids,
    Effect.map(Ids, (own) => Ids.of({ ...own, entropy: () => Effect.succeed(known) }))
  ).pipe(Layer.provide(Layer.succeed(Ids, store.ids)))
  const keys = yield* Effect.provide(
    KeyStore,
    KeyStoreSql.layer({ pepper: singleKeyring(Redacted.make(SqlStorage.pepper)) }).pipe(
      Layer.provide([ids, Layer.succeed(SqlClient.SqlClient, store.sql)])
    )
  )
  yield* keys.create(accountId, { label: "timing", mode: "live" })
  const near: Array<number> = []
  const far: Array<number> = []
  const attempt = (entropy: Uint8Array) => timed(keys.authenticate(Redacted.make(makeSecret("live", entropy))))
  for (let n = 0; n < rounds * triesPerRound; n++) {
    const ending = yield* randomBytes
    const tries = [
      Effect.map(attempt(Uint8Array.from([...known.slice(0, 26), ...ending.slice(26)])), (time) => near.push(time)),
      Effect.map(attempt(ending), (time) => far.push(time))
    ]
    // Neither kind is always the second, which finds everything warm.
    yield* Effect.all(n % 2 === 0 ? tries : tries.reverse(), { discard: true })
  }
  const { a, b, t } = difference(near, far)
  yield* findings.note(
    `keys, ${near.length} each: near a known one ${a.mean.toFixed(1)} µs, nobody's ${b.mean.toFixed(1)} µs, t = ${t.toFixed(2)}`
  )
  if (Math.abs(t) > maxT) yield* findings.violation(`a key's secret shows in the time its refusal takes: t = ${t}`)
})

/** Wrong secrets of every length, at deployments whose own secrets are short and long. */
const proxySecrets = Effect.fnUntraced(function* (rounds: number) {
  const findings = yield* Findings
  const open = (secret: string) =>
    Effect.provide(
      Marketplace,
      MarketplaceProxy.layer({ secrets: [Redacted.make(secret)], plan: "growth" }).pipe(
        Layer.provide(Layer.mock(Accounts, {}))
      ),
      { local: true }
    )
  const short = yield* open("s".repeat(16))
  const long = yield* open("s".repeat(64))
  const tries = Math.max(minTriesPerLength, Math.ceil((rounds * triesPerRound) / lengths.length))
  let worst = { t: 0, length: 0 }
  for (const length of lengths) {
    const times: { readonly [K in "short" | "long" | "near" | "far"]: Array<number> } = {
      short: [],
      long: [],
      near: [],
      far: []
    }
    const attempt = (proxy: Marketplace["Service"], sent: string) =>
      // As a header arrives: a string of its own, of which nothing is computed yet.
      timed(proxy.authenticate(Redacted.make(Buffer.from(sent).toString("latin1")), "ada"))
    // All but its last character is the long secret's, as far as that goes.
    const near = `${"s".repeat(length - 1)}x`
    const far = "x".repeat(length)
    const measures = [
      { times: times.short, proxy: short, sent: far },
      { times: times.long, proxy: long, sent: far },
      { times: times.near, proxy: long, sent: near },
      { times: times.far, proxy: long, sent: far }
    ]
    for (let n = 0; n < tries + warmUp; n++) {
      for (const measure of yield* Random.shuffle(measures)) {
        const time = yield* attempt(measure.proxy, measure.sent)
        if (n >= warmUp) measure.times.push(time)
      }
    }
    for (const { t } of [difference(times.short, times.long), difference(times.near, times.far)]) {
      if (Math.abs(t) > Math.abs(worst.t)) worst = { t, length }
    }
  }
  yield* findings.note(
    `marketplace, ${tries} of each of ${lengths.length} lengths: largest t = ${worst.t.toFixed(2)} (length ${worst.length})`
  )
  if (Math.abs(worst.t) > maxT) {
    yield* findings.violation(`the proxy's secret shows in the time a refusal takes: t = ${worst.t} at ${worst.length}`)
  }
})

export const timing: Scenario = {
  name: "timing",
  promise: "how long a refusal takes tells nothing of the secret that was missed",
  rounds: 1000,
  run: Effect.fnUntraced(function* ({ rounds }) {
    yield* proxySecrets(rounds)
    yield* keySecrets(rounds)
  })
}
