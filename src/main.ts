import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { codeOf, complain } from "./exit.ts"
import * as Admin from "./http/admin/Admin.ts"
import * as HttpServer from "./http/Server.ts"
import { AppConfig } from "./layers/Config.ts"
import { announce, FirstStart } from "./layers/FirstStart.ts"
import * as Logging from "./layers/Logging.ts"
import * as Services from "./layers/Services.ts"
import * as Signals from "./layers/Signals.ts"
import * as ProcessMetrics from "./layers/telemetry/ProcessMetrics.ts"
import * as Telemetry from "./layers/telemetry/Telemetry.ts"
import { ProviderStates } from "./services/ProviderStates.ts"
import { Readiness } from "./services/Readiness.ts"

const listener = Layer.unwrap(
  Effect.map(AppConfig, ({ host, port, shutdownGrace }) => HttpServer.layer({ host, port, grace: shutdownGrace }))
)

const admin = Layer.unwrap(
  Effect.map(AppConfig, ({ adminHost, adminPort }) => Admin.layer({ host: adminHost, port: adminPort }))
)

const signals = Layer.unwrap(Effect.map(AppConfig, ({ shutdownGrace }) => Signals.layer({ grace: shutdownGrace })))

// What stands lower starts earlier and ends later: the private listener tells of the public one's start and drain.
Layer.effectDiscard(announce).pipe(
  Layer.provide(listener),
  Layer.provide(FirstStart.layer),
  Layer.provide(admin),
  Layer.provide(Services.layer),
  Layer.provide([Readiness.layer, ProviderStates.layer]),
  Layer.provide(ProcessMetrics.layer),
  Layer.provide(signals),
  Layer.provide(Telemetry.layer),
  Layer.provide(Logging.layer("stdout")),
  Layer.provide(AppConfig.layer),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
