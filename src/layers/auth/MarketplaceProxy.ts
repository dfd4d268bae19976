import { createHash, timingSafeEqual } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import { isMarketplaceUser } from "../../domain/Credential.ts"
import { unauthorized } from "../../domain/errors.ts"
import type { PaidPlan } from "../../domain/Plan.ts"
import { Accounts } from "../../services/Accounts.ts"
import { Marketplace } from "../../services/Marketplace.ts"

export interface MarketplaceProxyOptions {
  /** What the proxy may send: two while one takes the place of the other, none where there is no marketplace. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  /** The plan of every subscriber; without one nobody is accepted. */
  readonly plan: PaidPlan | undefined
}

const digest = (secret: Redacted.Redacted): Buffer => createHash("sha256").update(Redacted.value(secret)).digest()

/** Believes a proxy that knows the deployment's secret. */
export const layer = ({ plan, secrets }: MarketplaceProxyOptions): Layer.Layer<Marketplace, never, Accounts> =>
  Layer.effect(
    Marketplace,
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const digests = secrets.map(digest)

      // Digests have one length, and each is compared to its end whatever the others said.
      const isSecret = (sent: Redacted.Redacted): boolean => {
        const digested = digest(sent)
        return digests.reduce((known, one) => timingSafeEqual(one, digested) || known, false)
      }

      return Marketplace.of({
        authenticate: Effect.fn("Marketplace.authenticate")(function* (secret, user) {
          if (!isSecret(secret) || plan === undefined || !isMarketplaceUser(user)) return yield* unauthorized
          return { _tag: "marketplace", account: yield* accounts.ofSubscriber(user, plan), user }
        })
      })
    })
  )
