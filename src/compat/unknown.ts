import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import { NotFound } from "../domain/errors.ts"
import { apiErrorResponse, noteError } from "../http/errors.ts"
import { OpenWebUiGroup } from "./OpenWebUiGroup.ts"
import { toFirecrawlError } from "./pages/firecrawl.ts"
import { toJinaError } from "./pages/jina.ts"
import { SearxngGroup } from "./SearxngGroup.ts"
import type { ErrorAnswer } from "./Shape.ts"
import type { Group } from "./serve.ts"
import { tavily } from "./tavily.ts"
import { brave } from "./web/brave.ts"
import { exa } from "./web/exa.ts"
import { PerplexityGroup } from "./web/PerplexityGroup.ts"
import { serper } from "./web/serper.ts"

/** Undefined for services whose clients do not parse errors. They get the API's envelope. */
const errorFormats: Readonly<Record<CompatShape, ((error: NotFound) => ErrorAnswer) | undefined>> = {
  searxng: undefined,
  tavily: tavily.toError,
  openwebui: undefined,
  perplexity: undefined,
  brave: brave.toError,
  serper: serper.toError,
  exa: exa.toError,
  firecrawl: toFirecrawlError,
  jina: toJinaError
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/** The services with a route at `/compat/<name>` itself. */
const withBareRoute: ReadonlyArray<Group> = [SearxngGroup, OpenWebUiGroup, PerplexityGroup]

const hasRoute = (method: string, path: string): boolean =>
  withBareRoute.some(({ endpoints }) =>
    Object.values(endpoints).some((endpoint) => endpoint.method === method && endpoint.path === path)
  )

const routesOf = (name: CompatShape) => {
  const error = new NotFound({
    message: `/compat/${name} has no route at this address. /openapi.json lists its routes.`
  })
  const format = errorFormats[name]
  const { body, status } = format?.(error) ?? {}
  const response =
    status === undefined ? apiErrorResponse(error) : Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status }))
  const answer = Effect.andThen(noteError(error), response)
  const bare = `/compat/${name}` as const
  // The router also adds the path before `/*`, which some services have as a route of their own.
  return methods.map((method) => {
    const path = hasRoute(method, bare) ? (`${bare}/:first/*` as const) : (`${bare}/*` as const)
    return HttpRouter.route(method, path, answer)
  })
}

/** Answers unknown paths below an enabled service in the format that its clients read. */
export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  HttpRouter.use((router) => router.addAll(shapes.flatMap(routesOf)))
