import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { DashboardFiles, DashboardUnavailable } from "../../src/services/operations/DashboardFiles.ts"
import { NamedTargets } from "../../src/services/providers/NamedTargets.ts"
import { found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const texts = new Map([
  ["A1.js", "let a = 1 // é".repeat(99)],
  ["B2.js", "let b = 1"],
  ["C3.js", "let c = 1"],
  ["D4.css", "b {}"]
])
const files = Layer.succeed(
  DashboardFiles,
  Effect.succeed({ texts, script: "A1.js", imports: ["B2.js"], style: "D4.css" })
)

const running = Layer.merge(services(providing(() => Effect.succeed(found(1)))), files)

const labels = {
  alpha_search: { name: `News "&quot;" <script>'`, about: "أخبار \u2068 & </body>" },
  beta_search: { name: "n".repeat(100) }
}

const assetsIn = (html: string): ReadonlyArray<string> => html.match(/\/dashboard\/assets\/\w+\.(?:js|css)/g) ?? []

describe("R34: addresses for people", () => {
  it.effect("`/` leads who asks for HTML to the dashboard, and is nothing to a program", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const person = yield* api.get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" })
      assert.deepStrictEqual([person.status, person.headers.get("location")], [303, "/dashboard"])
      assert.strictEqual(person.headers.get("vary"), "accept")
      for (const accept of ["application/json", "*/*"]) {
        const { json } = yield* api.get("/", { accept })
        assert.strictEqual(json.error, "not_found")
        for (const next of ["/v1/query", "Authorization: Bearer", "/docs", "/dashboard"])
          assert.include(json.message, next)
      }
    }).pipe(Effect.provide(running))
  )

  it.effect("/.well-known/change-password leads password managers to the account page", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const method of ["GET", "HEAD"]) {
        const answer = yield* api.send(method, "/.well-known/change-password")
        assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/dashboard/account"])
      }
    }).pipe(Effect.provide(running))
  )

  it.effect("every address of the dashboard is the same document, which loads nothing from elsewhere", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const page = yield* api.get("/dashboard")
      assert.strictEqual(page.status, 200)
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/)
      assert.include(policy, "require-trusted-types-for 'script'")
      assert.notMatch(policy, /unsafe|\*|https?:/)
      assert.notMatch(page.text, /https?:|<script>|<style|style=|\son\w+=/)
      for (const path of ["/dashboard/log", "/dashboard/log/qry_1?a=b", "/dashboard/nothing"]) {
        assert.strictEqual((yield* api.get(path)).text, page.text)
      }
      const again = yield* api.get("/dashboard", { "if-none-match": page.headers.get("etag") ?? "" })
      assert.strictEqual(again.status, 304)
      assert.strictEqual((yield* api.send("HEAD", "/dashboard/keys")).status, 200)
    }).pipe(Effect.provide(running))
  )

  it.effect("gives the dashboard the names of targets with any characters (R73)", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { text } = yield* api.get("/dashboard")
      const attribute = /data-targets="([^"<>]*)"/.exec(text)?.[1] ?? ""
      const unescaped = attribute
        .replaceAll("&quot;", '"')
        .replaceAll("&#39;", "'")
        .replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&amp;", "&")
      assert.deepStrictEqual(JSON.parse(unescaped), labels)
    }).pipe(Effect.provide(Layer.provideMerge(running, Layer.succeed(NamedTargets, labels))))
  )

  it.effect("a browser without a session is led to the sign-in page, and back from there", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const locationOf = (path: string, headers: Record<string, string> = {}) =>
        Effect.map(api.get(path, { accept: "text/html", ...headers }), ({ headers, status }) => [
          status,
          headers.get("location")
        ])
      assert.deepStrictEqual(yield* locationOf("/dashboard"), [303, "/dashboard/sign-in"])
      assert.deepStrictEqual(yield* locationOf("/dashboard/"), [303, "/dashboard/sign-in"])
      assert.deepStrictEqual(yield* locationOf("/dashboard/log?target=page"), [
        303,
        "/dashboard/sign-in?next=%2Fdashboard%2Flog%3Ftarget%3Dpage"
      ])
      const cookie = "other=1; quarry.session_token=any"
      assert.deepStrictEqual(yield* locationOf("/dashboard/log", { cookie }), [200, null])
    }).pipe(Effect.provide(running))
  )

  it.effect(
    "script and style are cached forever and compressed, and scripts that the first imports are fetched along with it",
    () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const paths = assetsIn((yield* api.get("/dashboard")).text)
        assert.deepStrictEqual(
          paths,
          ["D4.css", "B2.js", "A1.js"].map((name) => `/dashboard/assets/${name}`)
        )
        for (const path of [...paths, "/dashboard/assets/C3.js"]) {
          const { headers, status } = yield* api.get(path, { "accept-encoding": "gzip" })
          assert.strictEqual(status, 200)
          assert.match(headers.get("cache-control") ?? "", /immutable/)
          assert.strictEqual(headers.get("content-encoding"), "gzip")
        }
        assert.strictEqual((yield* api.get("/dashboard/assets/0123456789abcdef.js")).json.error, "not_found")
      }).pipe(Effect.provide(running))
  )

  it.effect("the icon and robots.txt are there, and keep search engines to the reference", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      assert.strictEqual((yield* api.get("/favicon.ico")).headers.get("content-type"), "image/svg+xml")
      const allowed = ["/docs", "/llms.txt", "/llms-full.txt"].map((path) => `Allow: ${path}\n`).join("")
      assert.strictEqual((yield* api.get("/robots.txt")).text, `User-agent: *\n${allowed}Disallow: /\n`)
    }).pipe(Effect.provide(running))
  )

  it.effect("/llms.txt is an index whose links lead somewhere on this server, and /llms-full.txt is the text", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const index = yield* api.get("/llms.txt")
      const full = yield* api.get("/llms-full.txt", { "accept-encoding": "br" })
      assert.strictEqual(index.headers.get("content-type"), "text/plain; charset=utf-8")
      assert.deepStrictEqual([full.status, full.headers.get("content-encoding")], [200, "br"])
      assert.strictEqual((yield* api.send("HEAD", "/llms.txt")).status, 200)
      const text = (yield* api.get("/llms-full.txt")).text
      const links = Array.from(index.text.matchAll(/\]\(([^)]+)\)/g), ([, link = ""]) => link)
      assert.isAbove(links.length, 20)
      for (const link of links) {
        const [path = "", fragment] = link.split("#")
        assert.include(["llms-full.txt", "openapi.json"], path)
        if (fragment !== undefined) assert.include(text, `<!-- ${fragment} -->`)
      }
    }).pipe(Effect.provide(running))
  )

  it.effect("where the files cannot be made, the dashboard says so and the API goes on", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const page = yield* api.get("/dashboard")
      assert.strictEqual(page.status, 503)
      assert.include(page.text, "The dashboard is not available")
      assert.strictEqual((yield* api.get("/openapi.json")).status, 200)
    }).pipe(
      Effect.provide(
        Layer.merge(
          running,
          Layer.succeed(DashboardFiles, Effect.fail(new DashboardUnavailable({ message: "no program" })))
        )
      )
    )
  )
})
