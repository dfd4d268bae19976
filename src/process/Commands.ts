import { Duration, Layer } from "effect"
import * as PacerMemory from "../layers/memory/PacerMemory.ts"
import * as ProviderTrialsFile from "../layers/providers/described/ProviderTrialsFile.ts"
import * as ExternalIndexesOpenSearch from "../layers/providers/opensearch/ExternalIndexesOpenSearch.ts"
import { UpstreamClient } from "../layers/providers/UpstreamClient.ts"
import * as BackupsSql from "../layers/sql/operations/BackupsSql.ts"
import { AccountRemoval } from "../services/accounts/AccountRemoval.ts"
import { Invitations } from "../services/accounts/Invitations.ts"
import { ProviderStates } from "../services/providers/ProviderStates.ts"
import { StoreClock } from "../services/StoreClock.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Billing from "./Billing.ts"
import * as Deployment from "./Deployment.ts"
import * as Inspection from "./Inspection.ts"
import * as Logging from "./Logging.ts"
import * as Misspellings from "./Misspellings.ts"
import * as Pages from "./Pages.ts"
import * as Services from "./Services.ts"
import * as SignIn from "./SignIn.ts"
import * as Storage from "./store/Storage.ts"

const settings = Misspellings.warn.pipe(
  Layer.provideMerge(Logging.layer("stderr")),
  Layer.provideMerge(Misspellings.settings)
)

const externalIndexes = AppConfig.layerFrom(({ quarryProviders }) =>
  ExternalIndexesOpenSearch.layer(quarryProviders)
).pipe(Layer.provide(UpstreamClient.layer), Layer.provide(settings))

const storage = AccountRemoval.layer.pipe(
  Layer.provideMerge(SignIn.people),
  Layer.provideMerge(Storage.commandLayer),
  Layer.provideMerge(settings)
)

const reading = Layer.provideMerge(Storage.readingLayer, settings)

// In memory, because a check sends only one search to each provider.
const providers = Services.providers.pipe(
  Layer.provideMerge([ProviderStates.layer, Services.limits, settings]),
  Layer.provide([PacerMemory.layer, reading])
)

const trials = AppConfig.layerFrom(({ providerTimeout, quarryProviders }) =>
  ProviderTrialsFile.layer({ path: quarryProviders, timeoutMs: Duration.toMillis(providerTimeout) })
).pipe(Layer.provide([UpstreamClient.layer, PacerMemory.layer]), Layer.provide(settings))

const mailing = Invitations.layer.pipe(
  Layer.provideMerge([SignIn.emails, Deployment.layer]),
  Layer.provideMerge(storage)
)

export const layers = {
  settings,
  database: Layer.provide(Storage.database, settings),
  backups: BackupsSql.layer.pipe(Layer.provide(Storage.database), Layer.provide(settings)),
  inspection: Layer.provide(Inspection.layer, settings),
  overview: Layer.provide(Inspection.commandOverview, settings),
  providers,
  trials,
  secrets: Layer.provideMerge(Storage.secretRotation, settings),
  storage,
  mailing,
  external: externalIndexes,
  crawling: Pages.web.pipe(Layer.provideMerge(storage)),
  reading,
  paymentProvider: Layer.provide(Billing.commandProvider, [StoreClock.own, settings]),
  reconciler: Billing.commandReconciler.pipe(Layer.provideMerge(storage))
}
