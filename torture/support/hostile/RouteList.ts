import type { Report } from "../inside.ts"
import type { ListedRoute } from "./RandomRequests.ts"

/** Collects the routes that a server reports (`inside.ts`). Each of its listeners has its own router. */
export const make = () => {
  const routers: Array<Array<Omit<ListedRoute, "listener">>> = []
  return {
    take: (report: Report): void => {
      if (!("route" in report)) return
      const { method, path, router } = report.route
      routers[router] = [...(routers[router] ?? []), { method, path }]
    },
    /** Clears the routes before the server starts again. */
    clear: (): void => void routers.splice(0),
    listed: (): ReadonlyArray<ListedRoute> =>
      routers.flatMap((routes) => {
        const listener = routes.some(({ path }) => path === "/v1/query") ? "public" : "private"
        return routes.map((route) => ({ listener, ...route }))
      })
  }
}
