import { Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { openwebui } from "./openwebui.ts"
import { PerplexityGroup } from "./PerplexityGroup.ts"
import { perplexity } from "./perplexity.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import { searxng } from "./searxng.ts"
import { answerErrors, makeServe } from "./serve.ts"
import { TavilyGroup } from "./TavilyGroup.ts"
import { tavily, toTavilyError } from "./tavily.ts"

/** One API per service, because operators enable them individually. */

const Searxng = HttpApi.make("compatSearxng").add(SearxngGroup)
const Tavily = HttpApi.make("compatTavily").add(TavilyGroup)
const OpenWebUi = HttpApi.make("compatOpenWebUi").add(OpenWebUiGroup)
const Perplexity = HttpApi.make("compatPerplexity").add(PerplexityGroup)

interface Raw {
  readonly request: HttpServerRequest.HttpServerRequest
}

const searxngLayer = HttpApiBuilder.group(
  Searxng,
  "compatSearxng",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    const search = ({ request }: Raw) => serve(searxng, request)
    return handlers
      .handleRaw("getSearch", search)
      .handleRaw("postSearch", search)
      .handleRaw("getBare", search)
      .handleRaw("postBare", search)
      .handleRaw("getSlash", search)
      .handleRaw("postSlash", search)
  })
)

const tavilyLayer = HttpApiBuilder.group(
  Tavily,
  "compatTavily",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    return handlers.handleRaw("search", ({ request }) => answerErrors(serve(tavily, request), toTavilyError))
  })
)

const openWebUiLayer = HttpApiBuilder.group(
  OpenWebUi,
  "compatOpenWebUi",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    return handlers.handleRaw("search", ({ request }) => serve(openwebui, request))
  })
)

const perplexityLayer = HttpApiBuilder.group(
  Perplexity,
  "compatPerplexity",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    const search = ({ request }: Raw) => serve(perplexity, request)
    return handlers.handleRaw("search", search).handleRaw("bare", search)
  })
)

const layers = {
  searxng: HttpApiBuilder.layer(Searxng).pipe(Layer.provide(searxngLayer)),
  tavily: HttpApiBuilder.layer(Tavily).pipe(Layer.provide(tavilyLayer)),
  openwebui: HttpApiBuilder.layer(OpenWebUi).pipe(Layer.provide(openWebUiLayer)),
  perplexity: HttpApiBuilder.layer(Perplexity).pipe(Layer.provide(perplexityLayer))
} satisfies { readonly [S in CompatShape]?: unknown }

const hasSearch = (shape: CompatShape): shape is keyof typeof layers => Object.hasOwn(layers, shape)

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  Layer.mergeAll(Layer.empty, ...shapes.filter(hasSearch).map((shape) => layers[shape]))
