import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import { AppConfig } from "../../src/layers/Config.ts"
import * as Logging from "../../src/layers/Logging.ts"

/*
 * The process of `test/layers/Logging.integration.test.ts`: logs as the server does, and ends as its argument says.
 */

const endings: Readonly<Record<string, Effect.Effect<unknown>>> = {
  returns: Effect.void,
  exits: Effect.sync(() => process.exit(3)),
  throws: Effect.callback<never>(() => {
    process.nextTick(() => {
      throw new Error("thrown outside of every fiber")
    })
  }),
  warns: Effect.andThen(Effect.logWarning("warned"), Console.log("said")),
  "goes on": Effect.sleep(100).pipe(Effect.andThen(Effect.logInfo("goes on")), Effect.repeat({ times: 4 }))
}

const [ending = ""] = process.argv.slice(2)

const log = Effect.forEach(
  Array.from({ length: 2_000 }, (_, number) => number),
  (number) => Effect.annotateLogs(Effect.logInfo(`line ${number}`), { number }),
  { discard: true }
)

NodeRuntime.runMain(
  log.pipe(
    Effect.andThen(endings[ending] ?? Effect.die(`no ending "${ending}"`)),
    Effect.provide(
      Logging.layer("stdout").pipe(Layer.provide([AppConfig.layerTest({ logFormat: "json" }), NodeServices.layer]))
    )
  )
)
