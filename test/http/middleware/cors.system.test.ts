import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Deployment } from "../../../src/services/operations/Deployment.ts"
import * as Listener from "../../support/api/Listener.ts"
import { secret } from "../../support/api/StubServices.ts"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"
import { serve, text } from "../../support/servers/UpstreamServer.ts"

interface Call {
  readonly path: string
  readonly init: {
    readonly method?: string
    readonly headers?: Record<string, string>
    readonly body?: string
    readonly credentials?: "include"
  }
}

type Outcome = { readonly status: number; readonly limit: string | null; readonly id: string | null } | "blocked"

const auth = { authorization: `Bearer ${secret}` }
const json = { "content-type": "application/json" }

const calls: Readonly<Record<string, Call>> = {
  search: { path: "/v1/query?query=a", init: { headers: auth } },
  batch: { path: "/v1/bulk", init: { method: "POST", headers: { ...auth, ...json }, body: '{"queries":["a"]}' } },
  account: { path: "/v1/me", init: { headers: auth } },
  "without a credential": { path: "/v1/me", init: {} },
  "with cookies": { path: "/v1/me", init: { headers: auth, credentials: "include" } },
  "a session's route": { path: "/v1/usage", init: { headers: auth } }
}

describeWithChromium("R48: a page in a browser", () => {
  it.live("of the demo's origin may call the API without cookies, and one of another origin may not", () =>
    Effect.gen(function* () {
      const page = text("<!doctype html><title>page</title>", 200)
      const demo = yield* serve(page)
      const foreign = yield* serve(page)
      const { port } = yield* Listener.start().pipe(
        Effect.provideService(Deployment, { origin: "http://quarry.test", demoOrigin: demo.url, corsOrigins: [] })
      )
      const chromium = yield* browser
      const visit = async (origin: string): Promise<Readonly<Record<string, Outcome>>> => {
        const tab = await chromium.newPage()
        await tab.goto(`${origin}/`)
        const outcomes = await tab.evaluate(
          ({ api, calls }) =>
            Promise.all(
              Object.entries(calls).map(async ([name, { init, path }]): Promise<[string, Outcome]> => {
                try {
                  const { headers, status } = await fetch(api + path, init)
                  const outcome = { status, limit: headers.get("ratelimit-policy"), id: headers.get("x-request-id") }
                  return [name, outcome]
                } catch {
                  return [name, "blocked"]
                }
              })
            ),
          { api: `http://127.0.0.1:${port}`, calls }
        )
        await tab.close()
        return Object.fromEntries(outcomes)
      }
      const seen = yield* Effect.promise(() => visit(demo.url))
      const allowed = { status: 200, limit: '"minute";q=1000;w=60' }
      for (const name of ["search", "batch", "account"]) assert.deepInclude(seen[name], allowed, name)
      assert.deepInclude(seen["without a credential"], { status: 401, limit: null })
      for (const outcome of Object.values(seen)) if (outcome !== "blocked") assert.isString(outcome.id)
      assert.strictEqual(seen["with cookies"], "blocked")
      assert.strictEqual(seen["a session's route"], "blocked")
      for (const [name, outcome] of Object.entries(yield* Effect.promise(() => visit(foreign.url)))) {
        assert.strictEqual(outcome, "blocked", name)
      }
    })
  )
})
