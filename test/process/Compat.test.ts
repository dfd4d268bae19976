import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"
import { Compat } from "../../src/compat/Compat.ts"
import * as CompatSettings from "../../src/process/Compat.ts"
import { Keyless } from "../../src/services/accounts/Keyless.ts"
import { AppConfig } from "../../src/settings/Settings.ts"
import { aCaller } from "../support/api/Services.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

const missing = `acc_${"0".repeat(32)}`

/** The layer by settings, in which the account is made first where none is named. */
const settled = (settings: Partial<AppConfig["Service"]>) =>
  CompatSettings.layer.pipe(Layer.provide(AppConfig.layerTest(settings)))

describe("the settings of COMPAT", () => {
  it.effect("R43: without them nothing is on, and nobody is let in without a key", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Compat, { shapes: [], engines: {} })
      assert.isUndefined(yield* Keyless)
    }).pipe(Effect.provide(settled({})), Effect.provide(MemoryStorage.layer))
  )

  it.effect("R43: an account that is not there ends the start with one line that names the variable", () =>
    Effect.gen(function* () {
      const settings = settled({ compat: ["searxng"], compatKeylessAccount: missing })
      const error = yield* Effect.flip(Layer.build(settings))
      assert.match(error.message, new RegExp(`^COMPAT_KEYLESS_ACCOUNT: there is no account ${missing}. Use .+\\.$`))
    }).pipe(Effect.provide(MemoryStorage.layer))
  )

  it.effect("R43: keyless calls come from this machine, or from the networks that are named instead", () =>
    Effect.gen(function* () {
      const { account } = yield* aCaller({ plan: "growth" })
      const networksOf = (settings: Partial<AppConfig["Service"]>) =>
        Effect.map(
          Effect.provide(Keyless, settled({ compat: ["searxng"], compatKeylessAccount: account.id, ...settings })),
          (keyless) => keyless?.networks.map(IpNetwork.format)
        )
      assert.deepStrictEqual(yield* networksOf({}), ["127.0.0.0/8", "::1/128"])
      assert.deepStrictEqual(yield* networksOf({ compatKeylessNetworks: ["10.1.0.0/16", "fd00::1"] }), [
        "10.1.0.0/16",
        "fd00::1/128"
      ])
    }).pipe(Effect.provide(MemoryStorage.layer))
  )
})
