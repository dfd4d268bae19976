import { setFlagsFromString } from "node:v8"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { codeOf, complain } from "./process/exit.ts"
import * as Logging from "./process/Logging.ts"
import { workersOf } from "./process/workers/Own.ts"
import { AppConfig } from "./settings/Settings.ts"

// V8 would make objects of a kind that often survives in its old space at once. There, one that is dead keeps all that it
// refers to, and the garbage of searches would pile up until a major collection (ARCHITECTURE.md, Memory).
setFlagsFromString("--no-allocation-site-pretenuring")

// Each loads its own part alone: a supervisor needs less memory than a server.
Effect.gen(function* () {
  const workers = workersOf(yield* AppConfig)
  if (workers > 1) {
    const { supervise } = yield* Effect.promise(() => import("./process/workers/Supervisor.ts"))
    return yield* supervise(workers)
  }
  const { layer } = yield* Effect.promise(() => import("./process/Server.ts"))
  return yield* Layer.launch(layer)
}).pipe(
  Effect.provide(
    Logging.layer("stdout").pipe(Layer.provideMerge(AppConfig.layer), Layer.provideMerge(NodeServices.layer))
  ),
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
