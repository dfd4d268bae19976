import { assert, describe, it } from "@effect/vitest"
import { routes as offered } from "../../../src/layers/auth/betterAuth/LibraryRoutes.ts"
import { headerBytes } from "../Promises.ts"
import { hostileRequests } from "./hostileShapes.ts"
import { type Document, describeRoutes, type ListedRoute, largestHeadersBytes, type Route } from "./RandomRequests.ts"

const document: Document = {
  paths: {
    "/v1/known/{id}": {
      post: {
        security: [{ apiKey: [] }],
        requestBody: {
          content: {
            "application/json": {
              schema: { type: "object", properties: { rows: { type: "array", items: { type: "string" } } } }
            }
          }
        }
      }
    }
  },
  components: { schemas: {} }
}

const listed = (method: string, path: string): ListedRoute => ({ listener: "public", method, path })

const describeOne = (method: string, path: string): Route => {
  const [route] = describeRoutes(document, [listed(method, path)])
  assert.isDefined(route)
  return route as Route // It was just asserted.
}

const shapesOf = (route: Route) => hostileRequests(route, document.components.schemas)

describe("the hostile requests", () => {
  it("include every route of a router, with or without a description", () => {
    for (const route of [describeOne("GET", "/v1/new"), describeOne("POST", "/v1/new/:id")])
      assert.isAbove(shapesOf(route).length, 60, `${route.method} ${route.path}`)
  })

  it("include every route of the sign-in library", () => {
    const described = describeRoutes(document, [listed("GET", "/api/auth/*"), listed("POST", "/api/auth/*")])
    for (const [method, pattern] of offered)
      assert.isTrue(
        described.some((route) => route.method === method && pattern.test(route.path.slice("/api/auth".length))),
        `${method} ${pattern}`
      )
  })

  it("include lists of wrong values in each list field in every run", () => {
    const always = shapesOf(describeOne("POST", "/v1/known/:id")).filter(({ isInEveryRun }) => isInEveryRun)
    assert.includeMembers(
      always.map(({ name }) => name),
      ["a list of numbers in rows", "a list of nulls in rows", "a list of objects in rows"]
    )
    assert.isAbove(Math.max(...always.flatMap(({ sizes }) => sizes)), 1_000_000)
  })

  it("have the given size, below the limits of headers and bodies", () => {
    for (const { name, of, sizes } of shapesOf(describeOne("POST", "/v1/known/:id")))
      for (const size of sizes) {
        const request = of(size)
        const bytes = headerBytes(request) + (request.body?.length ?? 0)
        assert.isBelow(headerBytes(request), largestHeadersBytes, name)
        if (name !== "compressed spaces") assert.closeTo(bytes, size, 0.3 * size, `${name}, ${size}`)
      }
  })
})
