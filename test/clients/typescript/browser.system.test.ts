import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Layer, References } from "effect"
import type * as Client from "../../../clients/typescript/src/index.ts"
import { limits } from "../../../src/http/listener/limits.ts"
import { programPath } from "../../../src/layers/DashboardFilesEsbuild.ts"
import * as Listener from "../../../src/process/Listener.ts"
import { Readiness } from "../../../src/services/operations/Readiness.ts"
import { aCaller, found, providing, servicesOver } from "../../support/api/Services.ts"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"
import { serve } from "../../support/servers/UpstreamServer.ts"
import * as MemoryStorage from "../../support/stores/MemoryStorage.ts"

const entry = fileURLToPath(new URL("../../../clients/typescript/src/index.ts", import.meta.url))

/** The client as one script for pages. */
const script = () =>
  execFileSync(programPath(), [entry, "--bundle", "--global-name=client", "--target=es2022", "--tsconfig-raw={}"], {
    encoding: "utf8"
  })

/** Uses the client in a page, and answers what it got. */
const usage = async ({ apiKey, baseUrl }: { readonly apiKey: string; readonly baseUrl: string }) => {
  // The script has put it there.
  const { createQuarry, isQuarryError } = Reflect.get(globalThis, "client") as typeof Client
  const quarry = createQuarry({ baseUrl, apiKey })
  const { results } = await quarry.query("css grid", { idempotencyKey: "once" })
  await quarry.query("css grid", { idempotencyKey: "once" })
  const last = quarry.last
  const lines: Array<string> = []
  for await (const { type } of quarry.stream(["a", "b"])) lines.push(type)
  const { total } = await quarry.bulk(["c"])
  const error = await quarry.query("").catch((error: unknown) => (isQuarryError(error) ? error.error : String(error)))
  const controller = new AbortController()
  const aborted = quarry.query("d", { signal: controller.signal }).catch((error) => error.error)
  controller.abort()
  return {
    organic: results.organic.length,
    replayed: last?.replayed,
    creditsUsed: last?.creditsUsed,
    limit: last?.rateLimit?.limit,
    lines,
    total,
    error,
    aborted: await aborted,
    credits: (await quarry.me()).credits_available
  }
}

describeWithChromium("@quarry/client in a browser", () => {
  it.live("R48: a page of a listed origin calls the API, and reads credits and limits", () =>
    Effect.gen(function* () {
      const client = script()
      const page = yield* serve(({ path }, response) =>
        path === "/client.js"
          ? response.writeHead(200, { "content-type": "text/javascript" }).end(client)
          : response
              .writeHead(200, { "content-type": "text/html" })
              .end("<!doctype html><title>page</title><script src=/client.js></script>")
      )
      const services = servicesOver(
        MemoryStorage.layer,
        providing(() => Effect.succeed(found(3))),
        { corsOrigins: [page.url] }
      )
      const context = yield* Layer.build(Layer.mergeAll(services, Readiness.layer, NodeHttpServer.layerHttpServices))
      const { port, secret } = yield* Effect.gen(function* () {
        const { secret } = yield* aCaller({ plan: "growth" })
        const grace = Duration.seconds(5)
        const { port } = yield* Listener.make({ host: "127.0.0.1", port: 0, grace, drainDelay: Duration.zero, limits })
        return { port, secret }
      }).pipe(Effect.provideContext(context), Effect.provideService(References.MinimumLogLevel, "None"))
      const chromium = yield* browser
      const seen = yield* Effect.promise(async () => {
        const tab = await chromium.newPage()
        await tab.goto(`${page.url}/`)
        return tab.evaluate(usage, { apiKey: secret, baseUrl: `http://127.0.0.1:${port}` })
      })
      assert.deepInclude(seen, { organic: 3, replayed: true, creditsUsed: 0, limit: 300, total: 1 })
      assert.deepInclude(seen, { error: "invalid_request", aborted: "aborted" })
      assert.deepStrictEqual(seen.lines, ["batch", "row", "row", "summary"])
      assert.oneOf(seen.credits, [75_000 - 4, 75_000 - 5])
    })
  )
})
