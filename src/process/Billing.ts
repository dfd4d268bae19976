import { Effect, Layer } from "effect"
import * as BillingDisabled from "../layers/billing/BillingDisabled.ts"
import type { PolarOptions } from "../layers/billing/PolarOptions.ts"
import type { Accounts } from "../services/accounts/Accounts.ts"
import { Billing } from "../services/billing/Billing.ts"
import type { BillingBooks } from "../services/billing/BillingBooks.ts"
import { BillingTerms } from "../services/billing/BillingTerms.ts"
import * as BillingWork from "../services/billing/BillingWork.ts"
import { Reconciler } from "../services/billing/Reconciler.ts"
import type { Ledger } from "../services/credits/Ledger.ts"
import type { Plans } from "../services/credits/Plans.ts"
import type { Ids } from "../services/Ids.ts"
import { Deployment } from "../services/operations/Deployment.ts"
import type { StoreClock } from "../services/StoreClock.ts"
import { AppConfig, SettingsInvalid } from "../settings/Settings.ts"
import * as DeploymentOfSettings from "./Deployment.ts"
import * as PlansOfSettings from "./Plans.ts"
import { background } from "./store/Storage.ts"

const terms = AppConfig.serviceFrom(BillingTerms, ({ billingCheckout, billingGrace }) => ({
  grace: billingGrace,
  isOpen: billingCheckout === "open"
}))

type PolarSettings = Omit<PolarOptions, "baseUrl"> & { readonly address: string | undefined }

/** Undefined without `BILLING_PROVIDER`, which requires all of these settings. */
const polarSettings = (
  {
    billingProvider,
    polarAccessToken: accessToken,
    polarBaseUrl: address,
    polarProductBusiness: business,
    polarProductGrowth: growth,
    polarProductPack: pack,
    polarProductStarter: starter,
    polarWebhookSecret: webhookSecrets
  }: AppConfig["Service"],
  origin: string
): PolarSettings | undefined =>
  billingProvider === undefined ||
  accessToken === undefined ||
  webhookSecrets === undefined ||
  starter === undefined ||
  growth === undefined ||
  business === undefined ||
  pack === undefined
    ? undefined
    : {
        accessToken,
        webhookSecrets,
        products: { starter, growth, business, pack },
        address,
        returnUrl: `${origin}/dashboard/billing`,
        webhookUrl: `${origin}/webhooks/billing`
      }

/** Undefined if no provider is configured. Polar's code is loaded on demand. */
const provider = Effect.gen(function* () {
  const { origin } = yield* Deployment
  const config = yield* AppConfig
  const settings = polarSettings(config, origin)
  if (settings === undefined) return undefined
  const { address, ...options } = settings
  const { layer } = yield* Effect.promise(() => import("../layers/billing/Polar.ts"))
  const { servers } = yield* Effect.promise(() => import("../layers/billing/PolarClient.ts"))
  return layer({ ...options, baseUrl: address ?? servers[config.polarServer] })
}).pipe(Effect.provide(DeploymentOfSettings.layer))

type Needs = Accounts | AppConfig | BillingBooks | Ids | Ledger | Plans | StoreClock

export const layer = Layer.unwrap(
  Effect.map(
    provider,
    (provider): Layer.Layer<Billing, never, Needs> =>
      provider === undefined
        ? BillingDisabled.layer.pipe(Layer.provide(terms))
        : Layer.merge(Billing.layer, BillingWork.layer.pipe(Layer.provide(background))).pipe(
            Layer.provide(Reconciler.layer),
            Layer.provide([provider, terms])
          )
  )
)

const unset = "BILLING_PROVIDER: not set; this command asks the payment provider, which it names."

export const commandProvider = Layer.unwrap(
  Effect.flatMap(provider, (provider) =>
    provider === undefined ? Effect.fail(new SettingsInvalid({ message: unset })) : Effect.succeed(provider)
  )
).pipe(Layer.provide(PlansOfSettings.layer))

export const commandReconciler = Reconciler.layer.pipe(Layer.provide([commandProvider, terms]))
