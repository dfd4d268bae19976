import { layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { describeWithChromium } from "../../support/Chromium.ts"
import { type FakePolar, fakePolar } from "../../support/polar/FakePolar.ts"
import * as Dashboard from "./Dashboard.ts"

/** The payment provider's stand-in, on which people pay in the browser. */
export class Provider extends Context.Service<Provider, FakePolar>()("test/Provider") {}

const running = Effect.map(Provider, (provider) =>
  Dashboard.Running.layer(
    Effect.tap(Dashboard.start("embedded", provider.environment()), ({ origin }) =>
      Effect.sync(() => provider.deliverTo(`${origin}/webhooks/billing`))
    )
  )
).pipe(Layer.unwrap, Layer.provideMerge(Layer.effect(Provider, fakePolar())))

/** A group of tests over one service that sells through the stand-in. */
export const describeBilling = (
  name: string,
  tests: (it: Vitest.MethodsNonLive<Dashboard.Running | Provider>) => void
): void => describeWithChromium(name, () => layer(running, { timeout: "5 minutes" })(tests))
