import { createHash, timingSafeEqual } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { isMarketplaceUser } from "../../domain/accounts/Credential.ts"
import type { PaidPlan } from "../../domain/credits/Plan.ts"
import { unauthorized } from "../../domain/errors.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { Marketplace } from "../../services/accounts/Marketplace.ts"

export interface MarketplaceProxyOptions {
  /** Two during a rotation, none without a marketplace. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  /** If undefined, no subscriber is accepted. */
  readonly plan: PaidPlan | undefined
}

const digest = (secret: Redacted.Redacted): Buffer => createHash("sha256").update(Redacted.value(secret)).digest()

export const layer = ({ plan, secrets }: MarketplaceProxyOptions): Layer.Layer<Marketplace, never, Accounts> =>
  Layer.effect(
    Marketplace,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const digests = secrets.map(digest)

      // Constant time: all digests have the same length.
      const isSecret = (presented: Redacted.Redacted): boolean => {
        const presentedDigest = digest(presented)
        return digests.reduce((isKnown, known) => timingSafeEqual(known, presentedDigest) || isKnown, false)
      }

      return Marketplace.of({
        authenticate: Effect.fn("Marketplace.authenticate")(function* (secret, user) {
          if (!isSecret(secret) || plan === undefined || !isMarketplaceUser(user)) return yield* unauthorized
          return { _tag: "marketplace", account: yield* accounts.ofSubscriber(user, plan), user }
        })
      })
    })
  )
