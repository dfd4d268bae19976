import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import type { CompatShape } from "../../domain/compat/CompatShape.ts"
import { apiErrorResponse } from "../../http/errors.ts"
import { answerErrors, routesOf } from "../serve.ts"
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

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { many, one } = yield* makeServePages
      const routes = {
        tavily: routesOf(TavilyExtractGroup, (request) => answerErrors(many(tavilyExtract, request), tavily.toError)),
        openwebui: routesOf(OpenWebUiLoadGroup, (request) =>
          Effect.catch(many(openwebuiLoad, request), apiErrorResponse)
        ),
        exa: routesOf(ExaContentsGroup, (request) => answerErrors(many(exaContents, request), exa.toError)),
        firecrawl: routesOf(FirecrawlGroup, (request) => answerErrors(one(firecrawl, request), toFirecrawlError)),
        jina: routesOf(JinaGroup, (request) => answerErrors(one(jina, request), toJinaError))
      }
      const hasPages = (shape: CompatShape): shape is keyof typeof routes => Object.hasOwn(routes, shape)
      yield* router.addAll(shapes.filter(hasPages).flatMap((shape) => routes[shape]))
    })
  )
