import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Result } from "effect"
import { rank } from "../../../src/domain/search/Organic.ts"
import { targets } from "../../../src/domain/search/Target.ts"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import type { UpstreamRequest } from "../../../src/layers/providers/UpstreamRequest.ts"
import { membersOf } from "../../../src/services/providers/Provider.ts"
import { firstOf, index } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"

const examples = new URL("../../../examples/providers/", import.meta.url)
const fixtures = new URL("examples/", import.meta.url)

const read = (folder: URL, name: string) => JSON.parse(readFileSync(new URL(name, folder), "utf8"))

const key = "example-key"
const environment = {
  GOOGLE_API_KEY: key,
  GOOGLE_ENGINE_ID: "engine-1",
  SEARCHAPI_API_KEY: key,
  LINKUP_API_KEY: key,
  YDC_API_KEY: key,
  PERPLEXITY_API_KEY: key,
  JINA_API_KEY: key,
  FIRECRAWL_API_KEY: key
}

/** A provider table whose upstream records requests and gives one response. */
const tableOf = (file: unknown, sent: Array<UpstreamRequest>, response: unknown, status = 200) =>
  ProviderFile.table({ _tag: "file", path: "providers.json" }).pipe(
    Effect.provide(
      Layer.mergeAll(
        Layer.succeed(UpstreamClient, {
          exchange: (request, use) => {
            sent.push(request)
            const body = Effect.succeed(Buffer.from(JSON.stringify(response)))
            const header = (name: string) => (name === "content-type" ? "application/json" : undefined)
            return use({ status, header, body: () => body })
          }
        }),
        PacerMemory.layer,
        index,
        FileSystem.layerNoop({ readFileString: () => Effect.succeed(JSON.stringify(file)) }),
        ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))
      )
    )
  )

const asked = ({ body, method, parameters, url }: UpstreamRequest): string =>
  `${method} ${url}${parameters === "" ? "" : `?${parameters}`}${body === null ? "" : ` ${body}`}`

const names = readdirSync(fixtures).map((name) => name.replace(".json", ""))

describe("R86: examples/providers", () => {
  it("has a description for each of twelve search APIs, tested on a documented response", () => {
    const files = readdirSync(examples).filter((name) => name.endsWith(".json") && name !== "open.json")
    assert.strictEqual(names.length, 12)
    assert.sameMembers(
      files.map((name) => name.replace(".json", "")),
      names
    )
  })

  for (const name of names) {
    const fixture = read(fixtures, `${name}.json`)
    const file = read(examples, `${name}.json`)

    it.live(`${name}: sends the documented request and reads the documented response`, () =>
      Effect.gen(function* () {
        const sent: Array<UpstreamRequest> = []
        const provider = firstOf(yield* tableOf(file, sent, fixture.response))
        const rows = yield* provider.search(searchRequest({ query: "solar system", num: 10 }))
        assert.deepStrictEqual(sent.map(asked), [fixture.asked])
        const shown = rank(rows, 10).map(({ domain: _, position: __, ...row }) => row)
        assert.deepStrictEqual(shown, fixture.rows)
      })
    )

    it.live(`${name}: a search without results is an answer`, () =>
      Effect.gen(function* () {
        const provider = firstOf(yield* tableOf(file, [], fixture.nothing))
        assert.deepStrictEqual(yield* provider.search(searchRequest()), [])
      })
    )

    for (const [status, body, reason] of fixture.refusals) {
      it.live(`${name}: ${status} ${JSON.stringify(body).slice(0, 60)} is ${reason}`, () =>
        Effect.gen(function* () {
          const provider = firstOf(yield* tableOf(file, [], body, status))
          const outcome = yield* Effect.result(provider.search(searchRequest()))
          assert.strictEqual(Result.isFailure(outcome) ? outcome.failure.reason : "nothing", reason)
        })
      )
    }

    it(`${name}: names its documentation, and a date only if it was read`, () => {
      const { source } = file.providers[name]
      assert.match(source.url, /^https:\/\//)
      assert.deepStrictEqual(source.date, fixture.source.date)
    })
  }

  it.live("open.json serves every target with the three services and the index, without a key", () =>
    Effect.gen(function* () {
      const file = read(examples, "open.json")
      for (const name of ["wikipedia", "hackernews", "stackexchange"])
        assert.deepStrictEqual(file.providers[name], read(examples, `${name}.json`).providers[name], name)
      const table = yield* tableOf(file, [], { pages: [] })
      for (const target of targets)
        assert.deepStrictEqual(
          table[target].flatMap(membersOf).map(({ name }) => name),
          ["wikipedia", "hackernews", "stackexchange", "index"]
        )
    })
  )
})
