import { Effect, Layer } from "effect"
import { Compat } from "../compat/Compat.ts"
import { loopbackNetworks, parseNetwork } from "../domain/net/Network.ts"
import { OperatorError } from "../domain/OperatorError.ts"
import { Keyless, makeKeyless } from "../services/accounts/Keyless.ts"
import { AppConfig } from "../settings/Settings.ts"

export class KeylessAccountMissing extends OperatorError("KeylessAccountMissing") {}

const shapes = AppConfig.serviceFrom(Compat, ({ compat, compatEngines }) => ({
  shapes: compat,
  engines: compatEngines
}))

const keyless = Layer.effect(
  Keyless,
  Effect.gen(function* () {
    const { compatKeylessAccount: account, compatKeylessNetworks: texts } = yield* AppConfig
    if (account === undefined) return undefined
    const networks = texts?.flatMap((text) => parseNetwork(text) ?? [])
    return yield* Effect.catchTag(makeKeyless(account, networks ?? loopbackNetworks), "not_found", () =>
      Effect.fail(
        new KeylessAccountMissing({
          message: `COMPAT_KEYLESS_ACCOUNT: there is no account ${account}. Use an id that npm run quarry -- account list prints.`
        })
      )
    )
  })
)

export const layer = Layer.merge(shapes, keyless)
