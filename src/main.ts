import { setFlagsFromString } from "node:v8"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as Logging from "./process/Logging.ts"
import { codeOf, complain } from "./process/lifecycle/exit.ts"
import * as Misspellings from "./process/Misspellings.ts"
import { makeMissing } from "./process/store/EmbeddedStore.ts"
import { isWorker, workersOf } from "./process/workers/WorkerRole.ts"
import { AppConfig } from "./settings/Settings.ts"

// V8 would allocate objects of types that often survive directly in old space. Dead objects there keep everything they
// refer to until a major collection, so the garbage of searches would pile up (docs/internals/design/lifecycle.md, Memory).
setFlagsFromString("--no-allocation-site-pretenuring")

// Imported on demand, because a supervisor needs less memory than a server.
Effect.gen(function* () {
  const workers = workersOf(yield* AppConfig)
  if (workers > 1) {
    const { supervise } = yield* Effect.promise(() => import("./process/workers/Supervisor.ts"))
    return yield* supervise(workers)
  }
  // A first start makes the store while this process compiles its code.
  const [{ layer }] = yield* Effect.all([Effect.promise(() => import("./process/Server.ts")), makeMissing], {
    concurrency: "unbounded"
  })
  return yield* Layer.launch(layer)
}).pipe(
  Effect.provide(
    // The supervisor has already printed these warnings.
    (isWorker ? Layer.empty : Misspellings.warn).pipe(
      Layer.provideMerge(Logging.layer("stdout")),
      Layer.provideMerge(Misspellings.settings),
      Layer.provideMerge(NodeServices.layer)
    )
  ),
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
