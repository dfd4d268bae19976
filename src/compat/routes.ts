import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import { apiErrorResponse } from "../http/errors.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { openwebui } from "./openwebui.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import type { Shape } from "./Shape.ts"
import { searxng } from "./searxng.ts"
import { answerErrors, type Group, makeServe, routesOf } from "./serve.ts"
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

const searches: ReadonlyArray<{ readonly shape: Shape; readonly group: Group }> = [
  { shape: searxng, group: SearxngGroup },
  { shape: tavily, group: TavilyGroup },
  { shape: openwebui, group: OpenWebUiGroup },
  { shape: perplexity, group: PerplexityGroup },
  { shape: brave, group: BraveGroup },
  { shape: serper, group: SerperGroup },
  { shape: exa, group: ExaGroup }
]

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const serve = yield* makeServe
      const enabled = searches.filter(({ shape }) => shapes.includes(shape.name))
      const routes = enabled.flatMap(({ group, shape }) => {
        const { toError } = shape
        if (toError === undefined) {
          return routesOf(group, (request) => Effect.catch(serve(shape, request), apiErrorResponse))
        }
        return routesOf(group, (request) => answerErrors(serve(shape, request), toError))
      })
      yield* router.addAll(routes)
    })
  )
