import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Duration, Effect, Exit, Layer } from "effect"
import * as Admin from "../../../src/http/admin/Admin.ts"
import * as Listener from "../../../src/process/Listener.ts"
import * as Signals from "../../../src/process/lifecycle/Signals.ts"
import { Overview } from "../../../src/services/operations/Overview.ts"
import * as StubServices from "../api/StubServices.ts"
import { status } from "../api/status.ts"
import { freePort } from "../servers/freePort.ts"

/*
 * The process of `test/e2e/lifecycle/shutdown.integration.test.ts`: both listeners, composed as in the server, with
 * stub services. A search for `wait 500` takes 500 ms. Arguments, in milliseconds: the grace period, how long the
 * storage takes to close, and the delay before draining. Prints one JSON line with its ports, and one line when the
 * storage closes.
 */

const [graceMs = 5000, closingMs = 0, drainDelayMs = 0] = process.argv.slice(2).map(Number)
const grace = Duration.millis(graceMs)
const drainDelay = Duration.millis(drainDelayMs)

const storage = Layer.effectDiscard(
  Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sleep(closingMs),
      Effect.sync(() => console.log("storage closed"))
    )
  )
)

const services = StubServices.layer(({ query }) =>
  Effect.andThen(
    Effect.sleep(Number(query.replace("wait ", ""))),
    Effect.sync(() => console.log("search finished"))
  )
)

const program = Effect.gen(function* () {
  const ports = { public: yield* Effect.promise(freePort), admin: yield* Effect.promise(freePort) }
  const announce = Layer.effectDiscard(Effect.sync(() => console.log(JSON.stringify(ports))))
  return yield* announce.pipe(
    Layer.provide(Listener.layer({ host: "127.0.0.1", port: ports.public, grace, drainDelay })),
    Layer.provide(Admin.layer({ host: "127.0.0.1", port: ports.admin, hosts: [] })),
    Layer.provide(Layer.succeed(Overview, { look: Effect.succeed(status({})) })),
    Layer.provide(storage),
    Layer.provide(services),
    Layer.provide(Signals.layer({ endsAtSecond: true, grace })),
    Layer.launch
  )
})

NodeRuntime.runMain(program, {
  teardown: (exit, end) => end(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
})
