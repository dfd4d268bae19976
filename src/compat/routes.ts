import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { CompatShape } from "../domain/compat/CompatShape.ts"
import { NotFound } from "../domain/errors.ts"
import { apiErrorResponse, noteError } from "../http/errors.ts"
import { PageSettings } from "../services/pages/PageSettings.ts"
import type { CompatRoute, CompatService } from "./CompatService.ts"
import { makeServe } from "./serve.ts"
import { services } from "./services.ts"

const endpointsOf = (routes: ReadonlyArray<CompatRoute>) =>
  routes.flatMap(({ group }) => Object.values(group.endpoints))

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/** Answers unknown paths below a service in the format that its clients read. */
const unknownRoutes = ({ name, toError }: CompatService, routes: ReadonlyArray<CompatRoute>) => {
  const error = new NotFound({
    message: `/compat/${name} has no route at this address. /openapi.json lists its routes.`
  })
  const { body, status } = toError?.(error) ?? {}
  const response =
    status === undefined ? apiErrorResponse(error) : Effect.succeed(HttpServerResponse.jsonUnsafe(body, { status }))
  const answer = Effect.andThen(noteError(error), response)
  const bare = `/compat/${name}` as const
  const endpoints = endpointsOf(routes)
  // The router also adds the path before `/*`, which some services have as a route of their own.
  return methods.map((method) => {
    const isTaken = endpoints.some((endpoint) => endpoint.method === method && endpoint.path === bare)
    return HttpRouter.route(method, isTaken ? (`${bare}/:first/*` as const) : (`${bare}/*` as const), answer)
  })
}

export const layerOf = (shapes: ReadonlyArray<CompatShape>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const serve = yield* makeServe
      const { isOn } = yield* PageSettings
      for (const service of shapes.map((shape) => services[shape])) {
        const routes = service.routes.filter((route) => isOn || "search" in route)
        const served = routes.flatMap((route) => {
          const handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, serve(service, route))
          // The cast: every path starts with a slash, which the endpoint's type does not express.
          return endpointsOf([route]).map(({ method, path }) => HttpRouter.route(method, path as `/${string}`, handler))
        })
        yield* router.addAll([...served, ...unknownRoutes(service, routes)])
      }
    })
  )
