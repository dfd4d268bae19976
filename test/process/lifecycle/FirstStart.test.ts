import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Layer, Logger, Redacted } from "effect"
import type { Target } from "../../../src/domain/search/Target.ts"
import { announce, FirstStart } from "../../../src/process/lifecycle/FirstStart.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import { Providers } from "../../../src/services/providers/Providers.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"

const secret = [Redacted.make("a secret")]

/** What a start warns of, under settings. */
const warnings = Effect.fnUntraced(function* (settings: Partial<AppConfig["Service"]>, unserved?: Target) {
  const lines: Array<string> = []
  yield* announce.pipe(
    Effect.provideService(FirstStart, { access: undefined }),
    Effect.provide(Readiness.layer),
    Effect.provide(
      Layer.mock(Providers, {
        serves: (target) => Effect.succeed(target !== unserved),
        labels: {},
        order: {}
      })
    ),
    Effect.provideService(Console.Console, { ...console, log: () => undefined }),
    Effect.provide(AppConfig.layerTest({ databaseUrl: Redacted.make("postgres://a"), ...settings })),
    Effect.provide(Logger.layer([Logger.make(({ message }) => lines.push(String(message)))]))
  )
  return lines
})

describe("what a start tells", () => {
  it.effect("a target that nobody serves is one line that says what to do", () =>
    Effect.gen(function* () {
      const [line, ...others] = yield* warnings({}, "gamma_search")
      assert.deepStrictEqual(others, [])
      assert.match(line ?? "", /^Nothing serves gamma_search: .*not charged.*QUARRY_PROVIDERS.*index load/)
    })
  )

  it.effect("half of a marketplace's settings is one line that names the other half", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* warnings({ marketplaceProxySecret: secret }), [
        "MARKETPLACE_PLAN is not set: the marketplace is off."
      ])
      assert.deepStrictEqual(yield* warnings({ marketplacePlan: "growth" }), [
        "MARKETPLACE_PROXY_SECRET is not set: the marketplace is off."
      ])
      assert.deepStrictEqual(yield* warnings({}), [])
      assert.deepStrictEqual(yield* warnings({ marketplaceProxySecret: secret, marketplacePlan: "growth" }), [])
    })
  )

  it.effect("selling without a mail server is one line that says what may be seen", () =>
    Effect.gen(function* () {
      const [line, ...others] = yield* warnings({ billingProvider: "polar" })
      assert.deepStrictEqual(others, [])
      assert.match(line ?? "", /^SMTP_URL is not set, so email addresses are not confirmed.*before you sell\.$/)
      const smtpUrl = Redacted.make("smtp://localhost:25")
      assert.deepStrictEqual(yield* warnings({ billingProvider: "polar", smtpUrl }), [])
    })
  )

  it.effect("the demo where other machines reach it is one line that says what it gives away and how to stop it", () =>
    Effect.gen(function* () {
      const demoOrigin = "https://www.example.com"
      for (const host of ["0.0.0.0", "::", "192.168.1.5", "quarry"]) {
        const [line, ...others] = yield* warnings({ demoOrigin, host })
        assert.deepStrictEqual(others, [])
        assert.match(
          line ?? "",
          /^DEMO_ORIGIN is set and HOST is .*without a key.*5 requests a minute.*50 searches each\. Unset DEMO_ORIGIN to stop this\.$/
        )
        assert.include(line, `HOST is ${host}:`)
        assert.deepStrictEqual(yield* warnings({ host }), [])
      }
      for (const host of ["127.0.0.1", "::1", "localhost"]) {
        assert.deepStrictEqual(yield* warnings({ demoOrigin, host }), [])
      }
    })
  )

  it.effect("calls without a key from other machines are one line that names the account and the networks", () =>
    Effect.gen(function* () {
      const settings = { compatKeylessAccount: "acc_1", compatKeylessNetworks: ["172.16.0.0/12", "10.0.0.0/8"] }
      const [line, ...others] = yield* warnings({ ...settings, host: "0.0.0.0" })
      assert.deepStrictEqual(others, [])
      assert.match(
        line ?? "",
        /^COMPAT_KEYLESS_ACCOUNT is set .*172\.16\.0\.0\/12, 10\.0\.0\.0\/8 .*acc_1 .*to stop this\.$/
      )
      assert.deepStrictEqual(yield* warnings({ ...settings, host: "127.0.0.1" }), [])
    })
  )
})
