import { Effect, Layer, Random, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeSecret } from "../../src/domain/keys/ApiKey.ts"
import * as MarketplaceProxy from "../../src/layers/auth/MarketplaceProxy.ts"
import * as KeyStoreSql from "../../src/layers/sql/keys/KeyStoreSql.ts"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { Marketplace } from "../../src/services/accounts/Marketplace.ts"
import { Ids } from "../../src/services/Ids.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { singleKeyring } from "../../src/services/operations/Keyrings.ts"
import { StoreClock } from "../../src/services/StoreClock.ts"
import { freshDatabase } from "../../test/support/stores/Database.ts"
import * as SqlStorage from "../../test/support/stores/SqlStorage.ts"
import type { Scenario } from "../Scenario.ts"
import { Findings } from "../support/Findings.ts"
import * as Store from "../support/Store.ts"

/** Attempts of each kind per round. */
const triesPerRound = 100
/** The first attempts per length are slow until the code is compiled. */
const warmUp = 50
/** With fewer attempts, outliers could exceed the bound on t. */
const minTriesPerLength = 200
/** A larger difference is not due to chance, given the number of comparisons here. */
const maxT = 4.5
const lengths = Array.from({ length: 128 }, (_, index) => index + 1)

/** Mean, variance and count without the slowest twentieth, which other work on the machine may have delayed. */
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

/** Duration of a rejection in microseconds. */
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

/** Secrets that differ from a valid one only at the end, and secrets that share nothing with a valid one. */
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
      Layer.provide([ids, StoreClock.own, Layer.succeed(SqlClient.SqlClient, store.sql)])
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
    // Alternates the order, because the second attempt finds caches warm.
    yield* Effect.all(n % 2 === 0 ? tries : tries.reverse(), { discard: true })
  }
  const { a, b, t } = difference(near, far)
  yield* findings.note(
    `keys, ${near.length} each: near a known one ${a.mean.toFixed(1)} µs, nobody's ${b.mean.toFixed(1)} µs, t = ${t.toFixed(2)}`
  )
  if (Math.abs(t) > maxT) yield* findings.violation(`a key's secret shows in the time its refusal takes: t = ${t}`)
})

/** Wrong secrets of every length, at deployments with a short and with a long secret. */
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
      // A fresh string, like a header: nothing about it has been computed yet.
      timed(proxy.authenticate(Redacted.make(Buffer.from(sent).toString("latin1")), "ada"))
    // Matches the long secret except for the last character.
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
