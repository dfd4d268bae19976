import { Effect, Layer } from "effect"
import * as Admin from "../http/admin/Admin.ts"
import * as FileDescriptors from "../layers/telemetry/FileDescriptors.ts"
import * as ProcessMetrics from "../layers/telemetry/ProcessMetrics.ts"
import { Readiness } from "../services/operations/Readiness.ts"
import { ProviderStates } from "../services/providers/ProviderStates.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Listener from "./Listener.ts"
import { keepCompiledCode } from "./lifecycle/compiledCode.ts"
import { announce, FirstStart } from "./lifecycle/FirstStart.ts"
import { notifyReady } from "./lifecycle/ServiceManager.ts"
import * as Signals from "./lifecycle/Signals.ts"
import * as Services from "./Services.ts"
import * as SignIn from "./SignIn.ts"
import * as Telemetry from "./Telemetry.ts"
import * as WorkerRole from "./workers/WorkerRole.ts"

const listener = AppConfig.layerFrom(({ drainDelay, host, port, shutdownGrace }) =>
  Listener.layer({ host, port, grace: shutdownGrace, drainDelay })
)

const admin = AppConfig.layerFrom(({ adminHost, adminHosts, adminPort }) =>
  WorkerRole.isWorker && adminPort !== 0
    ? WorkerRole.admin
    : Admin.layer({ host: adminHost, port: adminPort, hosts: adminHosts })
)

const build = AppConfig.layerFrom(({ quarryCommit }) => ProcessMetrics.build(quarryCommit))

const signals = AppConfig.layerFrom(({ shutdownGrace }) =>
  Signals.layer({ grace: shutdownGrace, endsAtSecond: !WorkerRole.isWorker })
)

/** Lower layers start earlier and end later, so the private listener can report startup and drain of the public one. */
export const layer = Layer.effectDiscard(
  Effect.andThen(WorkerRole.isFirst ? Effect.andThen(announce, notifyReady) : Effect.void, keepCompiledCode)
).pipe(
  Layer.provide(listener),
  Layer.provide(FirstStart.layer),
  Layer.provide(SignIn.people),
  Layer.provide(admin),
  Layer.provide(Services.layer),
  Layer.provide([Readiness.layer, ProviderStates.layer]),
  Layer.provide([ProcessMetrics.layer, FileDescriptors.layer, build]),
  Layer.provide(signals),
  Layer.provide(Telemetry.layer)
)
