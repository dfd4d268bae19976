import { hostname, networkInterfaces } from "node:os"
import { Duration, Effect, Layer } from "effect"
import { version } from "../domain/version.ts"
import { CompressesResponses } from "../http/middleware/Compression.ts"
import { SendsServerTiming } from "../http/responses/serverTiming.ts"
import * as MarketplaceProxy from "../layers/auth/MarketplaceProxy.ts"
import * as DashboardFilesEsbuild from "../layers/DashboardFilesEsbuild.ts"
import * as Ids from "../layers/Ids.ts"
import * as PacerMemory from "../layers/memory/PacerMemory.ts"
import * as PageCacheMemory from "../layers/memory/PageCacheMemory.ts"
import * as RateLimiterMemory from "../layers/memory/RateLimiterMemory.ts"
import * as ResultCacheMemory from "../layers/memory/ResultCacheMemory.ts"
import * as ProviderFile from "../layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../layers/providers/UpstreamClient.ts"
import * as LedgerWatch from "../layers/sql/credits/LedgerWatch.ts"
import * as Migrations from "../layers/sql/Migrations.ts"
import * as OperatorFiguresSql from "../layers/sql/operations/OperatorFiguresSql.ts"
import * as OperatorLogSql from "../layers/sql/operations/OperatorLogSql.ts"
import * as ProviderPausesSql from "../layers/sql/operations/ProviderPausesSql.ts"
import * as ReplicasSql from "../layers/sql/operations/ReplicasSql.ts"
import * as DatabaseReadiness from "../layers/sql/store/DatabaseReadiness.ts"
import { AccountRemoval } from "../services/accounts/AccountRemoval.ts"
import { Credentials } from "../services/accounts/Credentials.ts"
import { TrustedProxies } from "../services/accounts/TrustedProxies.ts"
import * as PlanBooks from "../services/credits/PlanBooks.ts"
import * as Heartbeat from "../services/operations/Heartbeat.ts"
import { MinuteSeries } from "../services/operations/MinuteSeries.ts"
import type { BoundAddress } from "../services/operations/Readiness.ts"
import { SettingsList } from "../services/operations/SettingsList.ts"
import { Limits } from "../services/providers/Limits.ts"
import * as NamedTargets from "../services/providers/NamedTargets.ts"
import { Bulk } from "../services/search/Bulk.ts"
import { Search } from "../services/search/Search.ts"
import { list } from "../settings/describe.ts"
import { AppConfig } from "../settings/Settings.ts"
import * as Billing from "./Billing.ts"
import * as Compat from "./Compat.ts"
import * as Deployment from "./Deployment.ts"
import * as Events from "./Events.ts"
import * as Inspection from "./Inspection.ts"
import * as OperatorConsole from "./OperatorConsole.ts"
import * as Pages from "./Pages.ts"
import * as Plans from "./Plans.ts"
import * as SignIn from "./SignIn.ts"
import * as SecretHeaders from "./secrets/SecretHeaders.ts"
import * as Storage from "./store/Storage.ts"

export const limits = AppConfig.serviceFrom(Limits, ({ bulkBudget, providerTimeout }) => ({
  bulkBudget,
  providerTimeout
}))

const shared = Layer.unwrap(
  Effect.gen(function* () {
    const { cacheSize, cacheTtl, redisUrl } = yield* AppConfig
    if (redisUrl === undefined) {
      return Layer.mergeAll(
        RateLimiterMemory.layer(),
        ResultCacheMemory.layer({ ttl: cacheTtl, capacity: cacheSize }),
        PageCacheMemory.layer,
        PacerMemory.layer
      )
    }
    const SharedRedis = yield* Effect.promise(() => import("../layers/redis/SharedRedis.ts"))
    // Redis limits the number of answers by its own `maxmemory`; a size of 0 still turns the cache off.
    return SharedRedis.layer({ url: redisUrl, ttl: cacheSize === 0 ? Duration.zero : cacheTtl })
  })
)

/** The provider file has precedence over its short form. Without either, the built-in index serves every target. */
const sourceOf = ({
  quarryProviders,
  searxngEngines,
  searxngUrl
}: AppConfig["Service"]): ProviderFile.ProviderSource => {
  if (quarryProviders !== undefined) return { _tag: "file", path: quarryProviders }
  if (searxngUrl === undefined) return { _tag: "index" }
  return { _tag: "searxng", url: searxngUrl, engines: searxngEngines }
}

export const providers = AppConfig.layerFrom((config) => ProviderFile.layer(sourceOf(config))).pipe(
  Layer.provide([UpstreamClient.layer, limits])
)

const marketplace = AppConfig.layerFrom(({ marketplacePlan, marketplaceProxySecret }) =>
  MarketplaceProxy.layer({ secrets: marketplaceProxySecret ?? [], plan: marketplacePlan })
)

const callers = Layer.mergeAll(Credentials.layer, AccountRemoval.layer).pipe(
  Layer.provide(marketplace),
  Layer.provideMerge([SignIn.layer, Deployment.layer])
)

const trustedProxies = AppConfig.serviceFrom(TrustedProxies, ({ trustedProxyHops }) => trustedProxyHops)

const compression = AppConfig.serviceFrom(CompressesResponses, ({ compression }) => compression === "on")

const timing = AppConfig.serviceFrom(SendsServerTiming, ({ serverTiming }) => serverTiming === "on")

const readiness = DatabaseReadiness.layer.pipe(Layer.provide(Storage.database))

const watch = LedgerWatch.layer.pipe(Layer.provide(Migrations.layer), Layer.provide(Storage.database))

const wildcards: ReadonlyArray<string> = ["0.0.0.0", "::"]

const reachable = ({ host, port }: BoundAddress): BoundAddress => {
  const external = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .find(({ family, internal }) => family === "IPv4" && !internal)
  return { host: wildcards.includes(host) ? (external?.address ?? host) : host, port }
}

const heartbeat = AppConfig.layerFrom(({ quarryCommit, redisUrl }) =>
  Heartbeat.layer({
    host: hostname(),
    reachable,
    version,
    commit: quarryCommit,
    usesRedis: redisUrl !== undefined
  })
).pipe(
  Layer.provide([ReplicasSql.layer, ProviderPausesSql.layer, Storage.replicaId]),
  Layer.provide(Migrations.layer),
  Layer.provide(Storage.database)
)

const settingsList = Layer.effect(SettingsList, list)

/** Read only by the operator's console. */
const consoleReads = MinuteSeries.layer.pipe(
  Layer.provideMerge([OperatorLogSql.layer, OperatorFiguresSql.layer]),
  Layer.provide(Migrations.layer),
  Layer.provide(Storage.database)
)

const planBooks = PlanBooks.layer.pipe(Layer.provide(Storage.background))

const services = Layer.mergeAll(
  Search.layer,
  Bulk.layer,
  Pages.layer,
  callers,
  Billing.layer,
  Compat.layer,
  Events.layer,
  readiness,
  watch,
  Storage.logMaintenance,
  heartbeat,
  planBooks,
  Inspection.overview,
  consoleReads,
  DashboardFilesEsbuild.layer
).pipe(
  Layer.provideMerge(Layer.provideMerge(NamedTargets.layer, providers)),
  Layer.provideMerge(Pages.settings),
  Layer.provideMerge(limits),
  Layer.provideMerge([
    Storage.layer,
    shared,
    Ids.layer,
    trustedProxies,
    compression,
    timing,
    settingsList,
    SecretHeaders.layer,
    Plans.layer
  ])
)

export const layer = OperatorConsole.layer.pipe(Layer.provideMerge(services))
