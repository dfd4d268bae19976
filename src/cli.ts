import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as Quarry from "./cli/Quarry.ts"
import { codeOf, complain } from "./exit.ts"
import { AppConfig } from "./layers/Config.ts"
import * as Logging from "./layers/Logging.ts"
import * as PacerMemory from "./layers/memory/PacerMemory.ts"
import * as Services from "./layers/Services.ts"
import * as Storage from "./layers/Storage.ts"
import { ProviderStates } from "./services/ProviderStates.ts"

const settings = Layer.provideMerge(Logging.layer("stderr"), AppConfig.layer)

const storage = Layer.provide(Storage.layer, settings)

// The pace of this process alone: one search at each provider exceeds none.
const providers = Services.providers.pipe(
  Layer.provideMerge([ProviderStates.layer, settings]),
  Layer.provide([PacerMemory.layer, storage])
)

const quarry = Quarry.make({
  settings,
  database: Layer.provide(Storage.database, settings),
  providers,
  storage
})

quarry(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
