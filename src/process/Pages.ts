import { Effect, Layer } from "effect"
import { ParserTime, unchargedMs } from "../domain/pages/ParserTime.ts"
import { version } from "../domain/version.ts"
import * as PageFetcherNode from "../layers/pages/PageFetcherNode.ts"
import * as PageParserThreads from "../layers/pages/PageParserThreads.ts"
import * as ProviderFile from "../layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../layers/providers/UpstreamClient.ts"
import { PageBatches } from "../services/pages/PageBatches.ts"
import { PageReader } from "../services/pages/PageReader.ts"
import { direct, PageReaders } from "../services/pages/PageReaders.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"
import { Pages } from "../services/pages/Pages.ts"
import { ParserAllowance } from "../services/pages/ParserAllowance.ts"
import { AppConfig } from "../settings/Settings.ts"

export const settings = AppConfig.serviceFrom(PageSettings, ({ pages, pagesCacheTtl, pagesTimeout }) => ({
  isOn: pages === "on",
  timeout: pagesTimeout,
  cacheTtl: pagesCacheTtl
}))

export const userAgentOf = (configured: string | undefined, baseUrl: string): string =>
  configured ?? `Quarry/${version} (+${baseUrl})`

const fetcher = AppConfig.layerFrom(({ baseUrl, pagesAllowPrivate, pagesRobots, pagesUserAgent }) =>
  PageFetcherNode.layer({
    userAgent: userAgentOf(pagesUserAgent, baseUrl),
    obeysRobots: pagesRobots === "respect",
    allowsPrivate: pagesAllowPrivate
  })
)

const parser = AppConfig.layerFrom(({ pagesTimeout, pagesWorkers }) =>
  PageParserThreads.layer({ workers: pagesWorkers ?? PageParserThreads.defaultWorkers(), maxWait: pagesTimeout })
)

export const web = Layer.merge(fetcher, parser)

const readers = Layer.effect(
  PageReaders,
  Effect.gen(function* () {
    const { pages, pagesAllowPrivate, quarryProviders } = yield* AppConfig
    if (quarryProviders === undefined || pages === "off") return [direct] as const
    return yield* ProviderFile.readers(quarryProviders, { allowsPrivate: pagesAllowPrivate })
  })
).pipe(Layer.provide(UpstreamClient.layer))

export const layer = Layer.merge(Pages.layer, PageBatches.layer).pipe(
  Layer.provide(PageReader.layer),
  Layer.provide(readers),
  Layer.provide(web),
  Layer.provide(Layer.sync(ParserAllowance, () => new ParserTime(unchargedMs)))
)
