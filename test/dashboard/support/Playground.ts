import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { layer, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { describeWithChromium } from "../../support/processes/Chromium.ts"
import { temporaryDirectory } from "../../support/processes/Spawned.ts"
import * as UpstreamServer from "../../support/servers/UpstreamServer.ts"
import * as Dashboard from "./Dashboard.ts"

/**
 * The dashboard over Postgres, with traces and three providers: one responds, or finds nothing if the query says so,
 * one fails (`epsilon_search`), and one is slow (`zeta_search`). Nobody serves `delta_search`.
 */

/** A long name, written from right to left, and a sentence with markup. */
export const gammaLabel = { name: "חדשות".repeat(12), about: `News of <b>today</b> & "yesterday".` }

const results = [
  { url: "https://example.com/caching", title: "HTTP caching <b>explained</b>", content: "How caches work & why." },
  { url: "https://he.example.org/", title: "מטמון של HTTP", content: "איך מטמונים עובדים" },
  { url: `https://example.net/${"a-very-long-path/".repeat(9)}`, title: "unbroken".repeat(30), content: "" }
].map((row) => ({ ...row, engine: "google", engines: ["google"] }))

const respond: UpstreamServer.Answer = (received, response) => {
  const query = received.query.get("q") ?? ""
  if (received.path === "/config") UpstreamServer.json({ engines: [{ name: "google" }] })(received, response)
  else if (received.path === "/failing/search") UpstreamServer.text("no", 500)(received, response)
  else if (received.path === "/search") {
    const rows = query.includes("nothing") ? [] : results
    UpstreamServer.json({ results: rows, unresponsive_engines: [] })(received, response)
  } else if (received.path !== "/slow/search") response.writeHead(200).end()
}

const running = Effect.gen(function* () {
  const upstream = yield* UpstreamServer.serve(respond)
  const file = join(yield* temporaryDirectory, "providers.json")
  const by = (provider: string) => [{ provider, engine: "google" }]
  writeFileSync(
    file,
    JSON.stringify({
      providers: {
        meta: { type: "searxng", url: upstream.url },
        failing: { type: "searxng", url: `${upstream.url}/failing` },
        slow: { type: "searxng", url: `${upstream.url}/slow` }
      },
      targets: {
        alpha_search: by("meta"),
        beta_search: by("meta"),
        gamma_search: { providers: by("meta"), ...gammaLabel },
        epsilon_search: by("failing"),
        zeta_search: by("slow")
      }
    })
  )
  return yield* Dashboard.start("postgres", {
    QUARRY_PROVIDERS: file,
    PROVIDER_TIMEOUT: "3 seconds",
    OTEL_EXPORTER_OTLP_ENDPOINT: upstream.url,
    OTEL_TRACES_SAMPLER: "always_on"
  })
})

export const describePlayground = (name: string, tests: (it: Vitest.MethodsNonLive<Dashboard.Running>) => void): void =>
  describeWithChromium(name, () =>
    layer(Dashboard.Running.layer(running), { timeout: "5 minutes", excludeTestServices: true })(
      "in one service",
      tests
    )
  )
