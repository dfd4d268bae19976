import { layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type FakePolar, fakePolar } from "../../support/polar/FakePolar.ts"
import { describeWithChromium } from "../../support/processes/Chromium.ts"
import * as Dashboard from "./Dashboard.ts"

/** The payment provider's stand-in, on which people pay in the browser. */
export class Provider extends Context.Service<Provider, FakePolar>()("test/Provider") {}

const running = (settings: Readonly<Record<string, string>>) =>
  Effect.map(Provider, (provider) =>
    Dashboard.Running.layer(
      Effect.tap(Dashboard.start("embedded", { ...provider.environment(), ...settings }), ({ origin }) =>
        Effect.sync(() => provider.deliverTo(`${origin}/webhooks/billing`))
      )
    )
  ).pipe(Layer.unwrap, Layer.provideMerge(Layer.effect(Provider, fakePolar())))

/** A group of tests over one service that sells through the stand-in. */
export const describeBilling = (
  name: string,
  tests: (it: Vitest.MethodsNonLive<Dashboard.Running | Provider>) => void,
  settings: Readonly<Record<string, string>> = {}
): void => describeWithChromium(name, () => layer(running(settings), { timeout: "5 minutes" })("in one service", tests))
