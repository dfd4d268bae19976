import { OpenApi } from "effect/http-api"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import { Api, documentOptions } from "../Api.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { ExaContentsGroup } from "./pages/ExaContentsGroup.ts"
import { FirecrawlGroup } from "./pages/FirecrawlGroup.ts"
import { JinaGroup } from "./pages/JinaGroup.ts"
import { OpenWebUiLoadGroup } from "./pages/OpenWebUiLoadGroup.ts"
import { TavilyExtractGroup } from "./pages/TavilyExtractGroup.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import { TavilyGroup } from "./TavilyGroup.ts"
import { BraveGroup } from "./web/BraveGroup.ts"
import { ExaGroup } from "./web/ExaGroup.ts"
import { PerplexityGroup } from "./web/PerplexityGroup.ts"
import { SerperGroup } from "./web/SerperGroup.ts"

export const describeApiWith = (shapes: ReadonlyArray<CompatShape>): OpenApi.OpenAPISpec => {
  const isOff = (shape: CompatShape): boolean => !shapes.includes(shape)
  const api = Api.add(
    SearxngGroup.annotate(OpenApi.Exclude, isOff("searxng")),
    TavilyGroup.annotate(OpenApi.Exclude, isOff("tavily")),
    OpenWebUiGroup.annotate(OpenApi.Exclude, isOff("openwebui")),
    PerplexityGroup.annotate(OpenApi.Exclude, isOff("perplexity")),
    BraveGroup.annotate(OpenApi.Exclude, isOff("brave")),
    SerperGroup.annotate(OpenApi.Exclude, isOff("serper")),
    ExaGroup.annotate(OpenApi.Exclude, isOff("exa")),
    TavilyExtractGroup.annotate(OpenApi.Exclude, isOff("tavily")),
    OpenWebUiLoadGroup.annotate(OpenApi.Exclude, isOff("openwebui")),
    ExaContentsGroup.annotate(OpenApi.Exclude, isOff("exa")),
    FirecrawlGroup.annotate(OpenApi.Exclude, isOff("firecrawl")),
    JinaGroup.annotate(OpenApi.Exclude, isOff("jina"))
  )
  return OpenApi.fromApi(api, documentOptions)
}
