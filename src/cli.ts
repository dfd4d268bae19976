import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import * as Quarry from "./cli/Quarry.ts"
import { codeOf, complain } from "./exit.ts"
import { AppConfig } from "./layers/Config.ts"
import * as Logging from "./layers/Logging.ts"
import * as Storage from "./layers/Storage.ts"

const settings = Layer.provideMerge(Logging.layer("stderr"), AppConfig.layer)

const quarry = Quarry.make({
  settings,
  database: Layer.provide(Storage.database, settings),
  storage: Layer.provide(Storage.layer, settings)
})

quarry(process.argv.slice(2)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
