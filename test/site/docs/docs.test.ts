import { readFileSync } from "node:fs"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import * as fc from "fast-check"
import { standardPlans } from "../../../src/domain/credits/Plan.ts"
import { assetResponse, codingFor } from "../../../src/site/assets.ts"
import { curlOf } from "../../../src/site/docs/curl.ts"
import { type Document, endpointsOf } from "../../../src/site/docs/document.ts"
import { pageOf } from "../../../src/site/docs/page.ts"
import { found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

// The committed document, which another test holds to the declaration.
const document = JSON.parse(readFileSync(new URL("../../../openapi.json", import.meta.url), "utf8")) as Document
const page = pageOf(document, { style: "/docs/style.css", script: "/docs/script.js" }, standardPlans)

const all = (pattern: RegExp): ReadonlyArray<string> => [...page.matchAll(pattern)].map(([, found]) => found ?? "")

describe("the API reference", () => {
  it("shows every operation, parameter, error, header, credential and schema of the document", () => {
    const { headers, schemas, securitySchemes } = document.components
    const ids = new Set(all(/ id="([^"]+)"/g))
    for (const { operationId, parameters = [], path } of endpointsOf(document)) {
      assert.isTrue(ids.has(operationId))
      assert.include(page, `<code>${path}</code>`)
      for (const { name } of parameters) assert.include(page, `<code>${name}</code>`)
    }
    for (const name of Object.keys(headers)) assert.isTrue(ids.has(`header-${name}`), name)
    for (const name of Object.keys(schemas)) assert.isTrue(ids.has(`schema-${name}`), name)
    for (const name of Object.keys(securitySchemes)) assert.isTrue(ids.has(`credential-${name}`), name)
    for (const code of ["unsupported_geo", "quota_exceeded", "upstream_timeout"]) {
      assert.include(page, `<code>${code}</code>`)
    }
  })

  it("has ids that are unique, and no link that leads nowhere", () => {
    const ids = all(/ id="([^"]+)"/g)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.isNotEmpty(all(/href="#([^"]+)"/g))
    for (const target of all(/href="#([^"]+)"/g)) assert.include(ids, target)
  })

  it("R34: loads its own stylesheet and script and nothing else, and has no script or style inside", () => {
    assert.notMatch(page, /<script>|<style|<iframe| style="| on[a-z]+="/)
    const loaded = all(/<(?:link|img|script|source)[^>]* (?:href|src)="([^"]+)"/g)
    assert.deepStrictEqual(loaded, ["/favicon.ico", "/docs/style.css", "/docs/script.js"])
  })

  it("has landmarks, one first heading, and tables with captions and headings of rows and columns", () => {
    for (const landmark of ["<header>", '<nav aria-label="Contents">', "<main "]) assert.include(page, landmark)
    assert.strictEqual(all(/<(h1)/g).length, 1)
    const tables = all(/<table[^>]*>([\s\S]*?)<\/table>/g)
    assert.isNotEmpty(tables)
    for (const table of tables) {
      assert.include(table, "<caption>")
      assert.include(table, '<th scope="col">')
      assert.include(table, '<th scope="row">')
    }
  })

  it("shows text of the document as text", () => {
    const [name, schema] = Object.entries(document.components.schemas)[0] ?? []
    const schemas = { [name ?? ""]: { ...schema, properties: { x: { description: "<b>&" } } } }
    const evil = pageOf(
      { ...document, components: { ...document.components, schemas } },
      { style: "/docs/style.css", script: "/docs/script.js" },
      standardPlans
    )
    assert.include(evil, "&lt;b&gt;&amp;")
  })

  it("has a call of each operation that can be typed into a shell", () => {
    const calls = endpointsOf(document).map((endpoint) => [
      endpoint.operationId,
      curlOf(endpoint, document.components.securitySchemes, "https://quarry.test")
    ])
    const byId = Object.fromEntries(calls) as Record<string, string>
    assert.strictEqual(
      byId.query,
      "curl 'https://quarry.test/v1/query?query=http+caching' \\\n  -H \"Authorization: Bearer $QUARRY_API_KEY\""
    )
    assert.include(byId.bulk, "-X POST 'https://quarry.test/v1/bulk'")
    assert.include(byId.bulk, '-d \'{"queries":')
    assert.include(byId.revokeApiKey, '-H "Cookie: __Secure-quarry.session_token=$QUARRY_SESSION"')
    assert.include(byId.revokeApiKey, "-H 'Origin: https://quarry.test'")
    for (const call of Object.values(byId)) assert.notInclude(call, "{id}")
  })
})

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

describe("GET /docs", () => {
  it.effect("is small, has a strict policy, and names a stylesheet that is cached forever", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const answer = yield* api.get("/docs", { "accept-encoding": "identity" })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(answer.headers.get("content-security-policy"), policy)
      assert.include(answer.text, "http://quarry.test/v1/query?query=http+caching")
      const [path = ""] = /\/docs\/style-[0-9a-f]{16}\.css/.exec(answer.text) ?? []
      const style = yield* api.get(path)
      assert.deepStrictEqual([style.status, style.headers.get("content-type")], [200, "text/css; charset=utf-8"])
      assert.strictEqual(style.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.notMatch(style.text, /url\(|@import/)
      assert.strictEqual((yield* api.get("/docs/style-0000000000000000.css")).status, 404)
      for (const [address, maxBytes] of [
        ["/docs", 40_000],
        [path, 5_000]
      ] as const) {
        for (const coding of ["br", "gzip"]) {
          const { headers } = yield* api.get(address, { "accept-encoding": coding })
          assert.strictEqual(headers.get("content-encoding"), coding)
          assert.strictEqual(headers.get("vary"), "accept-encoding")
          assert.isBelow(Number(headers.get("content-length")), maxBytes, `${address} ${coding}`)
        }
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("responds 304 in every coding to a reader who has it, and sends it again after a change", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      for (const path of ["/docs", "/openapi.json"]) {
        const tag = (yield* api.get(path)).headers.get("etag") ?? ""
        assert.match(tag, /^W\/"[0-9a-f]{16}"$/)
        for (const sent of [tag, tag.slice(2), `"x", ${tag}`, "*"]) {
          const again = yield* api.get(path, { "if-none-match": sent, "accept-encoding": "br" })
          assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", tag])
        }
        assert.strictEqual((yield* api.get(path, { "if-none-match": 'W/"x"' })).status, 200)
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("an asset", () => {
  const text = "a ".repeat(5_000)
  const answer = assetResponse({ text, contentType: "text/plain", headers: {} })
  const ask = (headers: Record<string, string>) =>
    Effect.map(
      Effect.provideService(
        answer,
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(new Request("http://quarry.test/", { headers }))
      ),
      ({ body }) => {
        if (body._tag !== "Uint8Array") throw new Error(`a body of ${body._tag}`)
        return body.body
      }
    )

  it.effect("is one buffer for all readers: slow ones hold no copies", () =>
    Effect.gen(function* () {
      for (const coding of ["br", "gzip", "identity"]) {
        const headers = { "accept-encoding": coding }
        assert.strictEqual(yield* ask(headers), yield* ask(headers))
      }
      assert.strictEqual(brotliDecompressSync(yield* ask({ "accept-encoding": "br" })).toString(), text)
      assert.strictEqual(gunzipSync(yield* ask({ "accept-encoding": "gzip" })).toString(), text)
    })
  )

  it("is sent in the smallest form that the reader takes (RFC 9110, 12.5.3)", () => {
    const cases: ReadonlyArray<readonly [string | undefined, string]> = [
      [undefined, "identity"],
      ["", "identity"],
      ["gzip, deflate, br, zstd", "br"],
      ["GZIP", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["br; q=0.000, *", "gzip"],
      ["*", "br"],
      ["*;q=0", "identity"],
      ["brotli", "identity"]
    ]
    for (const [sent, coding] of cases) assert.strictEqual(codingFor(sent), coding, sent)
  })

  it("takes any Accept-Encoding", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (sent) => {
        assert.include(["br", "gzip", "identity"], codingFor(sent))
      })
    )
  })
})
