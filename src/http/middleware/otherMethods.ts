import type { HttpApiEndpoint } from "effect/http-api"
import { Api } from "../Api.ts"

/** The methods of the API's routes by path, for the error of a request with another method. */

const makeRoutes = (): ReadonlyArray<readonly [path: RegExp, method: string]> =>
  Object.values(Api.groups).flatMap(({ endpoints }) =>
    Object.values(endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>).map(
      ({ method, path }) => [new RegExp(`^${path.replaceAll(/:[^/]+/g, "[^/]+")}$`), method] as const
    )
  )

let routes: ReadonlyArray<readonly [RegExp, string]> | undefined

/** Returns the methods that a path has, such as `GET` or `GET and POST`; undefined if there is no such route. */
export const otherMethods = (path: string): string | undefined => {
  routes ??= makeRoutes()
  const methods = routes.flatMap(([route, method]) => (route.test(path) ? [method] : []))
  return methods.length === 0 ? undefined : [...new Set(methods)].sort().join(" and ")
}
