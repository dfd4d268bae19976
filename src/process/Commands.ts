import { Layer } from "effect"
import * as PacerMemory from "../layers/memory/PacerMemory.ts"
import { AccountRemoval } from "../services/AccountRemoval.ts"
import { ProviderStates } from "../services/ProviderStates.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Billing from "./Billing.ts"
import * as Inspection from "./Inspection.ts"
import * as Logging from "./Logging.ts"
import * as Services from "./Services.ts"
import * as SignIn from "./SignIn.ts"
import * as Storage from "./Storage.ts"

const settings = Layer.provideMerge(Logging.layer("stderr"), AppConfig.layer)

const storage = AccountRemoval.layer.pipe(
  Layer.provideMerge(SignIn.people),
  Layer.provideMerge(Storage.commandLayer),
  Layer.provideMerge(settings)
)

const reading = Layer.provideMerge(Storage.readingLayer, settings)

// A pace of this process alone is enough, because a check sends one search to each provider.
const providers = Services.providers.pipe(
  Layer.provideMerge([ProviderStates.layer, settings]),
  Layer.provide([PacerMemory.layer, reading])
)

/** The layers of the operator's commands. Each command opens what it needs and no more. */
export const layers = {
  settings,
  database: Layer.provide(Storage.database, settings),
  inspection: Layer.provide(Inspection.layer, settings),
  overview: Layer.provide(Inspection.commandOverview, settings),
  providers,
  secrets: Layer.provideMerge(Storage.secretRotation, settings),
  storage,
  reading,
  paymentProvider: Layer.provide(Billing.commandProvider, settings),
  reconciler: Billing.commandReconciler.pipe(Layer.provideMerge(storage))
}
