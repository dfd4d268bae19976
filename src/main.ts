import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as Admin from "./http/admin/Admin.ts"
import * as FileDescriptors from "./layers/telemetry/FileDescriptors.ts"
import * as ProcessMetrics from "./layers/telemetry/ProcessMetrics.ts"
import * as EmbeddedStore from "./process/EmbeddedStore.ts"
import { codeOf, complain } from "./process/exit.ts"
import { announce, FirstStart } from "./process/FirstStart.ts"
import * as Listener from "./process/Listener.ts"
import * as Logging from "./process/Logging.ts"
import * as Services from "./process/Services.ts"
import * as Signals from "./process/Signals.ts"
import * as Telemetry from "./process/Telemetry.ts"
import { ProviderStates } from "./services/ProviderStates.ts"
import { Readiness } from "./services/Readiness.ts"
import { AppConfig } from "./settings/Settings.ts"

const listener = Layer.unwrap(
  Effect.map(AppConfig, ({ drainDelay, host, port, shutdownGrace }) =>
    Listener.layer({ host, port, grace: shutdownGrace, drainDelay })
  )
)

const admin = Layer.unwrap(
  Effect.map(AppConfig, ({ adminHost, adminPort }) => Admin.layer({ host: adminHost, port: adminPort }))
)

const build = Layer.unwrap(Effect.map(AppConfig, ({ quarryCommit }) => ProcessMetrics.build(quarryCommit)))

const signals = Layer.unwrap(Effect.map(AppConfig, ({ shutdownGrace }) => Signals.layer({ grace: shutdownGrace })))

// Layers that are lower start earlier and end later: the private listener reports the start and drain of the public one.
Layer.effectDiscard(announce).pipe(
  Layer.provide(listener),
  Layer.provide(FirstStart.layer),
  Layer.provide(admin),
  Layer.provide(Services.layer),
  Layer.provide(EmbeddedStore.layer),
  Layer.provide([Readiness.layer, ProviderStates.layer]),
  Layer.provide([ProcessMetrics.layer, FileDescriptors.layer, build]),
  Layer.provide(signals),
  Layer.provide(Telemetry.layer),
  Layer.provide(Logging.layer("stdout")),
  Layer.provide(AppConfig.layer),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
