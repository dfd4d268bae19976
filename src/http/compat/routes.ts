import { Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import { NotFound } from "../../domain/errors.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { openwebui } from "./openwebui.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import type { ShapeWithErrors } from "./Shape.ts"
import { searxng } from "./searxng.ts"
import { answerErrors, makeServe } from "./serve.ts"
import { TavilyGroup } from "./TavilyGroup.ts"
import { tavily } from "./tavily.ts"
import { BraveGroup } from "./web/BraveGroup.ts"
import { brave } from "./web/brave.ts"
import { ExaGroup } from "./web/ExaGroup.ts"
import { exa } from "./web/exa.ts"
import { PerplexityGroup } from "./web/PerplexityGroup.ts"
import { perplexity } from "./web/perplexity.ts"
import { SerperGroup } from "./web/SerperGroup.ts"
import { serper } from "./web/serper.ts"

/** One API per service, because operators enable them individually. */

const Searxng = HttpApi.make("compatSearxng").add(SearxngGroup)
const Tavily = HttpApi.make("compatTavily").add(TavilyGroup)
const OpenWebUi = HttpApi.make("compatOpenWebUi").add(OpenWebUiGroup)
const Perplexity = HttpApi.make("compatPerplexity").add(PerplexityGroup)
const Brave = HttpApi.make("compatBrave").add(BraveGroup)
const Serper = HttpApi.make("compatSerper").add(SerperGroup)
const Exa = HttpApi.make("compatExa").add(ExaGroup)

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
    return handlers.handleRaw("search", ({ request }) => answerErrors(serve(tavily, request), tavily.toError))
  })
)

const braveLayer = HttpApiBuilder.group(
  Brave,
  "compatBrave",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    return handlers.handleRaw("search", ({ request }) => answerErrors(serve(brave, request), brave.toError))
  })
)

const serperLayer = HttpApiBuilder.group(
  Serper,
  "compatSerper",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    return handlers.handleRaw("search", ({ request }) => answerErrors(serve(serper, request), serper.toError))
  })
)

const exaLayer = HttpApiBuilder.group(
  Exa,
  "compatExa",
  Effect.fn(function* (handlers) {
    const serve = yield* makeServe
    return handlers.handleRaw("search", ({ request }) => answerErrors(serve(exa, request), exa.toError))
  })
)

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/** Answers unknown paths below a mount in the format that the service's clients read. */
const unknownPaths = ({ name, toError }: ShapeWithErrors) => {
  const answer = errorResponse(toError(unknownPath(name)))
  return Layer.mergeAll(Layer.empty, ...methods.map((method) => HttpRouter.add(method, `/compat/${name}/*`, answer)))
}

const unknownPath = (name: string) =>
  new NotFound({ message: `/compat/${name} has no route at this address. /openapi.json lists its routes.` })

const errorResponse = ({ body, status }: { readonly body: unknown; readonly status: number }) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status }))

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
  tavily: Layer.merge(HttpApiBuilder.layer(Tavily).pipe(Layer.provide(tavilyLayer)), unknownPaths(tavily)),
  openwebui: HttpApiBuilder.layer(OpenWebUi).pipe(Layer.provide(openWebUiLayer)),
  perplexity: HttpApiBuilder.layer(Perplexity).pipe(Layer.provide(perplexityLayer)),
  brave: Layer.merge(HttpApiBuilder.layer(Brave).pipe(Layer.provide(braveLayer)), unknownPaths(brave)),
  serper: Layer.merge(HttpApiBuilder.layer(Serper).pipe(Layer.provide(serperLayer)), unknownPaths(serper)),
  exa: Layer.merge(HttpApiBuilder.layer(Exa).pipe(Layer.provide(exaLayer)), unknownPaths(exa))
} satisfies { readonly [S in CompatShape]?: unknown }

const hasSearch = (shape: CompatShape): shape is keyof typeof layers => Object.hasOwn(layers, shape)

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  Layer.mergeAll(Layer.empty, ...shapes.filter(hasSearch).map((shape) => layers[shape]))
