import { Context, Effect, Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { parseNetwork } from "../domain/net/Network.ts"
import * as RequestDecoding from "../http/middleware/RequestDecoding.ts"
import * as acts from "../http/operator/acts.ts"
import * as OperatorGate from "../http/operator/gate.ts"
import { OperatorApi } from "../http/operator/OperatorApi.ts"
import * as reads from "../http/operator/reads.ts"
import * as DashboardFilesEsbuild from "../layers/DashboardFilesEsbuild.ts"
import { Credentials } from "../services/accounts/Credentials.ts"
import { Operators } from "../services/accounts/Operators.ts"
import { Sessions } from "../services/accounts/Sessions.ts"
import { SignIn as SignInService } from "../services/accounts/SignIn.ts"
import { RateLimiter } from "../services/credits/RateLimiter.ts"
import { type ActServices, actServices } from "../services/operations/acts/perform.ts"
import { ConsoleFiles } from "../services/operations/DashboardFiles.ts"
import { OperatorNetworks } from "../services/operations/OperatorNetworks.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as pages from "../site/operatorConsole.ts"
import { OperatorRoutes } from "./Routes.ts"
import * as SignIn from "./SignIn.ts"

export const routes = Layer.merge(
  HttpApiBuilder.layer(OperatorApi).pipe(
    Layer.provide([acts.layer, reads.layer]),
    Layer.provide([OperatorGate.layer, RequestDecoding.layer])
  ),
  pages.layer
)

type Used = ActServices | reads.ReadServices | Credentials | Operators | RateLimiter | Sessions | SignInService

/** Selects what the routes use. The listener builds them later, apart from the services. */
const used = (all: Context.Context<Used>): Context.Context<Used> =>
  Context.mergeAll(
    actServices(all),
    reads.readServices(all),
    Context.pick(Credentials, Operators, RateLimiter, Sessions, SignInService)(all)
  )

export const served = (networks: ReadonlyArray<string> | undefined) =>
  Layer.effect(
    OperatorRoutes,
    Effect.gen(function* () {
      const services = used(yield* Effect.context<Used>())
      const references = Layer.merge(
        Layer.succeed(ConsoleFiles, yield* ConsoleFiles),
        Layer.succeed(
          OperatorNetworks,
          networks?.flatMap((text) => parseNetwork(text) ?? [])
        )
      )
      return routes.pipe(Layer.provide(references), Layer.provide(Layer.succeedContext(services)))
    })
  )

/** The routes of the operator's console, or none. */
export const layer = AppConfig.layerFrom(({ operatorConsole, operatorNetworks }) =>
  operatorConsole === "on"
    ? served(operatorNetworks).pipe(Layer.provide([DashboardFilesEsbuild.consoleLayer, SignIn.operators]))
    : Layer.empty
)
