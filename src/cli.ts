import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { codeOf, complain } from "./cli/exit.ts"
import { SystemUser } from "./cli/operator.ts"
import * as Quarry from "./cli/Quarry.ts"
import { exportAccount } from "./http/exportAccount.ts"
import * as PacerMemory from "./layers/memory/PacerMemory.ts"
import * as Billing from "./process/Billing.ts"
import * as Inspection from "./process/Inspection.ts"
import * as Logging from "./process/Logging.ts"
import * as Services from "./process/Services.ts"
import * as SignIn from "./process/SignIn.ts"
import * as Stdout from "./process/Stdout.ts"
import * as Storage from "./process/Storage.ts"
import { systemUser } from "./process/systemUser.ts"
import { AccountRemoval } from "./services/AccountRemoval.ts"
import { ProviderStates } from "./services/ProviderStates.ts"
import { AppConfig } from "./settings/Settings.ts"

const settings = Layer.provideMerge(Logging.layer("stderr"), AppConfig.layer)

const storage = AccountRemoval.layer.pipe(
  Layer.provideMerge(SignIn.people),
  Layer.provideMerge(Storage.commandLayer),
  Layer.provideMerge(settings)
)

// A pace of this process alone is enough, because a check sends one search to each provider.
const providers = Services.providers.pipe(
  Layer.provideMerge([ProviderStates.layer, settings]),
  Layer.provide([PacerMemory.layer, storage])
)

const quarry = Quarry.make({
  settings,
  database: Layer.provide(Storage.database, settings),
  inspection: Layer.provide(Inspection.layer, settings),
  overview: Layer.provide(Inspection.commandOverview, settings),
  providers,
  secrets: Layer.provideMerge(Storage.secretRotation, settings),
  storage,
  paymentProvider: Layer.provide(Billing.commandProvider, settings),
  reconciler: Billing.commandReconciler.pipe(Layer.provideMerge(storage)),
  exportAccount
})

const stdout = Stdout.watch(process.stdout, console.error)

quarry(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.provideService(SystemUser, systemUser()),
  Effect.tapCause(complain),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, end) => stdout.end(codeOf(exit), end)
  })
)
