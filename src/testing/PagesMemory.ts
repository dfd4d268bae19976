import { Effect, Layer } from "effect"
import { PageUnreadable } from "../domain/errors.ts"
import * as PageCacheMemory from "../layers/memory/PageCacheMemory.ts"
import { PageBatches } from "../services/pages/PageBatches.ts"
import { PageFetcher } from "../services/pages/PageFetcher.ts"
import { PageParser } from "../services/pages/PageParser.ts"
import { PageReader } from "../services/pages/PageReader.ts"
import { Pages } from "../services/pages/Pages.ts"

const noPages = Layer.succeed(PageFetcher, { fetch: () => Effect.fail(PageUnreadable.because("unreachable")) })

const noParser = Layer.succeed(PageParser, { parse: () => Effect.die(new Error("no page was fetched")) })

export const layer = (web: Layer.Layer<PageFetcher | PageParser> = Layer.merge(noPages, noParser)) =>
  Layer.merge(Pages.layer, PageBatches.layer).pipe(
    Layer.provide(PageReader.layer),
    Layer.provide([web, PageCacheMemory.layer])
  )
