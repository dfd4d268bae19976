import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Compat } from "./Compat.ts"

const mount = "/compat/jina/"

/** Moves a page's address from the path to `url`: a path is decoded (R3) and logged, but an address must not be. */
const withoutAddressInPath = (url: string): string =>
  url.startsWith(mount) && url.length > mount.length
    ? `${mount}address?url=${encodeURIComponent(url.slice(mount.length))}`
    : url

/** Wraps the edge, which reads the path, so that it must be composed before it. Nothing is wrapped without Jina. */
export const layer = Layer.unwrap(
  Effect.map(Compat, ({ shapes }) =>
    shapes.includes("jina")
      ? HttpRouter.middleware(
          (app) =>
            Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
              const url = withoutAddressInPath(request.url)
              return url === request.url
                ? app
                : Effect.provideService(app, HttpServerRequest.HttpServerRequest, request.modify({ url }))
            }),
          { global: true }
        )
      : Layer.empty
  )
)
