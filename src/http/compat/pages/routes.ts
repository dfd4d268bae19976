import { Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApi, HttpApiBuilder } from "effect/http-api"
import type { CompatShape } from "../../../domain/compat/CompatShape.ts"
import { answerErrors } from "../serve.ts"
import { tavily } from "../tavily.ts"
import { exa } from "../web/exa.ts"
import { ExaContentsGroup } from "./ExaContentsGroup.ts"
import { exaContents } from "./exaContents.ts"
import { FirecrawlGroup } from "./FirecrawlGroup.ts"
import { firecrawl, toFirecrawlError } from "./firecrawl.ts"
import { JinaGroup } from "./JinaGroup.ts"
import { jina, toJinaError } from "./jina.ts"
import { OpenWebUiLoadGroup } from "./OpenWebUiLoadGroup.ts"
import { openwebuiLoad } from "./openwebuiLoad.ts"
import { makeServePages } from "./servePages.ts"
import { TavilyExtractGroup } from "./TavilyExtractGroup.ts"
import { tavilyExtract } from "./tavilyExtract.ts"

const TavilyExtract = HttpApi.make("compatTavilyExtract").add(TavilyExtractGroup)
const OpenWebUiLoad = HttpApi.make("compatOpenWebUiLoad").add(OpenWebUiLoadGroup)
const ExaContents = HttpApi.make("compatExaContents").add(ExaContentsGroup)
const Firecrawl = HttpApi.make("compatFirecrawl").add(FirecrawlGroup)
const Jina = HttpApi.make("compatJina").add(JinaGroup)

interface Raw {
  readonly request: HttpServerRequest.HttpServerRequest
}

const tavilyLayer = HttpApiBuilder.group(
  TavilyExtract,
  "compatTavilyExtract",
  Effect.fn(function* (handlers) {
    const { many } = yield* makeServePages
    return handlers.handleRaw("extract", ({ request }) => answerErrors(many(tavilyExtract, request), tavily.toError))
  })
)

const openWebUiLayer = HttpApiBuilder.group(
  OpenWebUiLoad,
  "compatOpenWebUiLoad",
  Effect.fn(function* (handlers) {
    const { many } = yield* makeServePages
    return handlers.handleRaw("load", ({ request }) => many(openwebuiLoad, request))
  })
)

const exaLayer = HttpApiBuilder.group(
  ExaContents,
  "compatExaContents",
  Effect.fn(function* (handlers) {
    const { many } = yield* makeServePages
    return handlers.handleRaw("contents", ({ request }) => answerErrors(many(exaContents, request), exa.toError))
  })
)

const firecrawlLayer = HttpApiBuilder.group(
  Firecrawl,
  "compatFirecrawl",
  Effect.fn(function* (handlers) {
    const { one } = yield* makeServePages
    const scrape = ({ request }: Raw) => answerErrors(one(firecrawl, request), toFirecrawlError)
    return handlers.handleRaw("v1", scrape).handleRaw("v2", scrape)
  })
)

const jinaLayer = HttpApiBuilder.group(
  Jina,
  "compatJina",
  Effect.fn(function* (handlers) {
    const { one } = yield* makeServePages
    return handlers.handleRaw("read", ({ request }) => answerErrors(one(jina, request), toJinaError))
  })
)

const layers = {
  tavily: HttpApiBuilder.layer(TavilyExtract).pipe(Layer.provide(tavilyLayer)),
  openwebui: HttpApiBuilder.layer(OpenWebUiLoad).pipe(Layer.provide(openWebUiLayer)),
  exa: HttpApiBuilder.layer(ExaContents).pipe(Layer.provide(exaLayer)),
  firecrawl: HttpApiBuilder.layer(Firecrawl).pipe(Layer.provide(firecrawlLayer)),
  jina: HttpApiBuilder.layer(Jina).pipe(Layer.provide(jinaLayer))
}

const hasPages = (shape: CompatShape): shape is keyof typeof layers => Object.hasOwn(layers, shape)

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  Layer.mergeAll(Layer.empty, ...shapes.filter(hasPages).map((shape) => layers[shape]))
