import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Polar from "../../../src/layers/billing/Polar.ts"
import type { PolarOptions } from "../../../src/layers/billing/PolarOptions.ts"
import { PaymentProvider } from "../../../src/services/billing/PaymentProvider.ts"
import type { Plans } from "../../../src/services/credits/Plans.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"
import { accessToken, type FakePolar, type FakePolarOptions, fakePolar, webhookSecret } from "./FakePolar.ts"

export const webhookUrl = "http://127.0.0.1:9/webhooks/billing"

/** Adapter options for a fake. */
export const optionsOf = (fake: FakePolar): PolarOptions => ({
  accessToken: Redacted.make(accessToken),
  webhookSecrets: [Redacted.make(webhookSecret)],
  baseUrl: fake.url,
  products: fake.productIds,
  returnUrl: "https://q.example/dashboard/billing",
  webhookUrl
})

/** A fake and an adapter for it. The test fails if the fake sent anything that Polar would not. */
export const polar = Effect.fnUntraced(function* (
  options: FakePolarOptions = {},
  change: Partial<PolarOptions> = {},
  plans: Layer.Layer<Plans> = StandardSettings.plans
) {
  const fake = yield* fakePolar(options)
  yield* Effect.addFinalizer(() => Effect.sync(() => assert.deepStrictEqual(fake.faults, [])))
  const context = yield* Layer.build(
    Layer.provide(Polar.layer({ ...optionsOf(fake), ...change }), [plans, StoreClock.own])
  )
  return { fake, provider: Context.get(context, PaymentProvider) }
})
