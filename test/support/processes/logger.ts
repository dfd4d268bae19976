import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Layer } from "effect"
import * as Logging from "../../../src/process/Logging.ts"
import { AppConfig } from "../../../src/settings/Settings.ts"

/*
 * The process of `test/process/Logging.integration.test.ts`. Logs like the server, and ends as its argument says.
 */

const long = "Z".repeat(900_000)

/** Each exceeds the maximum length of a line. */
const oversized: ReadonlyArray<Effect.Effect<void>> = [
  Effect.logInfo(`begins ${long}`),
  Effect.logInfo("begins", { nested: [long, { deeper: long }] }),
  Effect.logInfo(`begins ${"\0".repeat(100_000)}`),
  Effect.logInfo(`begins ${"\u{1f480}".repeat(100_000)}`),
  Effect.logError("begins", Cause.die(new Error(long))),
  Effect.annotateLogs(Effect.logInfo("begins"), { long, kept: 1 }),
  Effect.annotateLogs(
    Effect.logInfo("begins"),
    Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`n${n}`, `${n}`]))
  )
]

const endings: Readonly<Record<string, Effect.Effect<unknown>>> = {
  returns: Effect.void,
  exits: Effect.sync(() => process.exit(3)),
  throws: Effect.callback<never>(() => {
    process.nextTick(() => {
      throw new Error("thrown outside of every fiber")
    })
  }),
  "is long": Effect.all(oversized, { discard: true }),
  "logs a request": Effect.annotateLogs(Effect.logInfo("GET /v1/query 200"), {
    method: "GET",
    path: "/v1/query",
    route: "/v1/query",
    status: 200,
    duration_ms: 200
  }),
  warns: Effect.andThen(Effect.logWarning("warned"), Console.log("said")),
  "goes on": Effect.sleep(100).pipe(Effect.andThen(Effect.logInfo("goes on")), Effect.repeat({ times: 4 }))
}

const [ending = "", format] = process.argv.slice(2)

/** As many lines as a pipe holds. Further lines wait for the reader, and are lost when the process exits. */
const log = Effect.forEach(
  Array.from({ length: 400 }, (_, number) => number),
  (number) => Effect.annotateLogs(Effect.logInfo(`line ${number}`), { number }),
  { discard: true }
)

NodeRuntime.runMain(
  log.pipe(
    Effect.andThen(endings[ending] ?? Effect.die(`no ending "${ending}"`)),
    Effect.provide(
      Logging.layer("stdout").pipe(
        Layer.provide([AppConfig.layerTest({ logFormat: format === "pretty" ? "pretty" : "json" }), NodeServices.layer])
      )
    )
  )
)
