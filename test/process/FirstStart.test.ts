import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Layer, Logger, Redacted } from "effect"
import type { Target } from "../../src/domain/Target.ts"
import { announce, FirstStart } from "../../src/process/FirstStart.ts"
import { Providers } from "../../src/services/Providers.ts"
import { AppConfig } from "../../src/settings/Settings.ts"

const secret = [Redacted.make("a secret")]

/** What a start warns of, under settings. */
const warnings = Effect.fnUntraced(function* (settings: Partial<AppConfig["Service"]>, unserved?: Target) {
  const lines: Array<string> = []
  yield* announce.pipe(
    Effect.provideService(FirstStart, { access: undefined }),
    Effect.provide(Layer.mock(Providers, { serves: (target) => Effect.succeed(target !== unserved) })),
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
      assert.match(line ?? "", /^SMTP_URL is not set: nobody confirms an address.*before you sell\.$/)
      const smtpUrl = Redacted.make("smtp://localhost:25")
      assert.deepStrictEqual(yield* warnings({ billingProvider: "polar", smtpUrl }), [])
    })
  )
})
