import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Redacted } from "effect"
import { type Target, targets } from "../../../src/domain/search/Target.ts"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import { type ProviderSource, table } from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import { DocumentIndex } from "../../../src/services/index/DocumentIndex.ts"
import { membersOf } from "../../../src/services/providers/Provider.ts"
import type { ProviderTable } from "../../../src/services/providers/Providers.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { answer, row } from "../../support/servers/SearXNGServer.ts"

const environment = { SEARXNG_AUTH: "c2VjcmV0", BRAVE_API_KEY: "BSA-hunter2", EMPTY: "", LINES: "a\nb" }

/** A SearXNG that answers every search with the authorization it was sent, in place of the network. */
const upstream = Layer.succeed(UpstreamClient, {
  exchange: (request, use) => {
    const engine = new URLSearchParams(request.parameters).get("engines") ?? "default"
    const title = `${new URL(request.url).origin} ${engine} ${request.headers.authorization}`
    const body = Buffer.from(JSON.stringify(answer({ results: [{ ...row(1, engine), title }] })))
    return use({ status: 200, header: () => undefined, body: () => Effect.succeed(body) })
  }
})

const index = Layer.mock(DocumentIndex, {
  search: () =>
    Effect.succeed({
      rows: [{ url: "https://index.test/", title: "from the index", snippet: "" }],
      isLoading: false
    })
})

const files = (content: string) =>
  FileSystem.layerNoop({
    readFileString: (path) => (path === "providers.json" ? Effect.succeed(content) : Effect.die("another file"))
  })

const read = (source: ProviderSource, content = "") =>
  table(source).pipe(
    Effect.provide(
      Layer.mergeAll(
        upstream,
        index,
        PacerMemory.layer,
        files(content),
        ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))
      )
    )
  )

const file = { _tag: "file", path: "providers.json" } as const

const readFile = (content: unknown) => read(file, typeof content === "string" ? content : JSON.stringify(content))

const names = (table: ProviderTable) =>
  Object.fromEntries(targets.map((target) => [target, table[target].flatMap(membersOf).map(({ name }) => name)]))

/** The title of what the target's provider finds. */
const title = (table: ProviderTable, target: Target, place = 0) =>
  Effect.gen(function* () {
    const rows = yield* table[target].flatMap(membersOf)[place]?.search(searchRequest({ target })) ?? Effect.succeed([])
    return rows[0]?.title
  })

const targetsOf = (alpha: unknown) => ({ alpha_search: alpha })

describe("ProviderFile", () => {
  it.effect("reads providers and, for each target, their failover order", () =>
    Effect.gen(function* () {
      const table = yield* readFile({
        providers: {
          meta: {
            type: "searxng",
            url: "http://127.0.0.1:8888",
            headers: { authorization: `Basic \${SEARXNG_AUTH}` },
            pageSize: 20
          },
          own: { type: "index" }
        },
        targets: {
          alpha_search: [{ provider: "meta", engine: "google cse" }, { provider: "own" }],
          beta_search: [{ provider: "meta" }],
          zeta_search: [{ provider: "own" }]
        }
      })
      assert.deepStrictEqual(names(table), {
        alpha_search: ["meta/google cse", "own"],
        beta_search: ["meta"],
        gamma_search: [],
        delta_search: [],
        epsilon_search: [],
        zeta_search: ["own"]
      })
      assert.strictEqual(yield* title(table, "alpha_search"), "http://127.0.0.1:8888 google cse Basic c2VjcmV0")
      assert.strictEqual(yield* title(table, "alpha_search", 1), "from the index")
    })
  )

  it.effect("reads the example of the contract, with its keys from the environment", () =>
    Effect.gen(function* () {
      const table = yield* readFile({
        providers: {
          meta: {
            type: "searxng",
            url: "http://127.0.0.1:8888",
            headers: { authorization: `Basic \${SEARXNG_AUTH}` }
          },
          brave: { type: "brave", apiKey: `\${BRAVE_API_KEY}` },
          own: { type: "index" }
        },
        targets: {
          alpha_search: [{ provider: "meta", engine: "google" }, { provider: "brave" }],
          beta_search: [{ provider: "meta", engine: "bing" }],
          gamma_search: [{ provider: "meta", engine: "duckduckgo" }],
          delta_search: [{ provider: "brave" }],
          epsilon_search: [{ provider: "meta", engine: "yandex" }],
          zeta_search: [{ provider: "own" }]
        }
      })
      assert.deepStrictEqual(names(table), {
        alpha_search: ["meta/google", "brave"],
        beta_search: ["meta/bing"],
        gamma_search: ["meta/duckduckgo"],
        delta_search: ["brave"],
        epsilon_search: ["meta/yandex"],
        zeta_search: ["own"]
      })
      assert.strictEqual(table.alpha_search[1], table.delta_search[0], "one provider, known once")
    })
  )

  it.effect("a target may be an object that asks for hedging", () =>
    Effect.gen(function* () {
      const own = [{ provider: "own" }]
      const table = yield* readFile({
        providers: { own: { type: "index" } },
        targets: {
          alpha_search: { providers: own, hedge: true },
          beta_search: { providers: own, hedge: false },
          gamma_search: { providers: own },
          delta_search: own
        }
      })
      assert.deepStrictEqual([...(table.hedged ?? [])], ["alpha_search"])
      for (const target of targets.slice(0, 4)) assert.deepStrictEqual(names(table)[target], ["own"])
    })
  )

  it.effect("takes every type with all of its options", () =>
    Effect.gen(function* () {
      const keyed = ["brave", "serper", "serpapi", "mojeek", "marginalia", "kagi", "tavily", "exa"]
      const bounds = { concurrency: 8, requestsPerSecond: 0.5 }
      const table = yield* readFile({
        providers: {
          ...Object.fromEntries(keyed.map((type) => [type, { type, apiKeys: ["a", "b"], ...bounds }])),
          openserp: { type: "openserp", url: "http://10.0.0.1:7000", insecure: true, ...bounds },
          searxng: { type: "searxng", url: "https://searx.test", ...bounds }
        },
        targets: {
          alpha_search: [
            ...[...keyed, "openserp", "searxng"].map((provider) => ({ provider })),
            { provider: "serpapi", engine: "bing" },
            { provider: "openserp", engine: "duck" }
          ]
        }
      })
      assert.strictEqual(table.alpha_search.length, 12)
    })
  )

  const engines: { readonly [T in Target]: string } = {
    alpha_search: "google",
    beta_search: "bing",
    gamma_search: "duckduckgo",
    delta_search: "brave",
    epsilon_search: "yandex",
    zeta_search: "google cse"
  }

  it.effect("the short form is one SearXNG for all targets", () =>
    Effect.gen(function* () {
      const table = yield* read({ _tag: "searxng", url: Redacted.make("https://searx.test/base"), engines })
      for (const target of targets) {
        assert.strictEqual(yield* title(table, target), `https://searx.test ${engines[target]} undefined`)
        assert.deepStrictEqual(names(table)[target], [`searxng/${engines[target]}`])
      }
    })
  )

  it.effect("without any setting the built-in index serves all targets", () =>
    Effect.gen(function* () {
      const table = yield* read({ _tag: "index" })
      for (const target of targets) assert.strictEqual(yield* title(table, target), "from the index")
      // What is known of it is known once.
      assert.strictEqual(new Set(targets.map((target) => table[target][0])).size, 1)
    })
  )

  const meta = { type: "searxng", url: "http://127.0.0.1:8888" }
  const withMeta = (fields: object) => ({ providers: { meta: { ...meta, ...fields } }, targets: {} })
  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ["text that is no JSON", '{ "apiKey": hunter2 }', "QUARRY_PROVIDERS (providers.json): is not JSON"],
    [
      "JSON with a comma too many",
      '{ "a": "hunter2", }',
      "QUARRY_PROVIDERS (providers.json): is not JSON at position 18 (line 1 column 19)"
    ],
    ["a list", [], "QUARRY_PROVIDERS (providers.json): must be an object with providers and targets"],
    ["no targets", { providers: {} }, "QUARRY_PROVIDERS (providers.json): targets is missing"],
    [
      "an unknown part",
      { providers: {}, targets: {}, extra: "hunter2" },
      "QUARRY_PROVIDERS (providers.json): extra is not allowed here"
    ],
    [
      "a provider that is not an object",
      { providers: { a: "hunter2" }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a must be an object"
    ],
    [
      "a provider without a type",
      { providers: { a: {} }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.type must be one of searxng, brave, serper, serpapi, mojeek, marginalia, openserp, kagi, tavily, exa, opensearch, http, index, firecrawl, jina"
    ],
    [
      "an unknown type",
      { providers: { a: { type: "toString" } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.type must be one of searxng, brave, serper, serpapi, mojeek, marginalia, openserp, kagi, tavily, exa, opensearch, http, index, firecrawl, jina"
    ],
    [
      "a missing option",
      { providers: { a: { type: "searxng" } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.url is missing"
    ],
    [
      "an unknown option",
      withMeta({ apiKey: "hunter2" }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.apiKey is not allowed here"
    ],
    [
      "an option of an index",
      { providers: { own: { type: "index", url: "hunter2" } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.own.url is not allowed here"
    ],
    ...["ftp://a.test", "127.0.0.1:8888", "http://u:hunter2@a.test", "http://a.test/?key=hunter2"].map(
      (url) =>
        [
          `the address ${url}`,
          withMeta({ url }),
          "QUARRY_PROVIDERS (providers.json): providers.meta.url must be an http(s) address without a user, password, query or fragment"
        ] as const
    ),
    [
      "an address that is not text",
      withMeta({ url: 1 }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.url must be a string"
    ],
    [
      "a page size of 0",
      withMeta({ pageSize: 0 }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.pageSize must be a whole number from 5 to 100"
    ],
    [
      "a page size in words",
      withMeta({ pageSize: "ten" }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.pageSize must be a whole number from 5 to 100"
    ],
    [
      "headers that are a list",
      withMeta({ headers: ["hunter2"] }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers must be an object of header names and values"
    ],
    [
      "a header that is not text",
      withMeta({ headers: { a: 1 } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a must be a string"
    ],
    [
      "a header with a line break",
      withMeta({ headers: { a: `\${LINES}` } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a must contain printable ASCII characters only"
    ],
    [
      "a header name with a space",
      withMeta({ headers: { "a b": "hunter2" } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a b is not allowed here"
    ],
    [
      "an unset variable",
      withMeta({ headers: { a: `x \${NOT_THERE}` } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a names the environment variable NOT_THERE, which is not set"
    ],
    [
      "an empty variable",
      withMeta({ headers: { a: `\${EMPTY}` } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a names the environment variable EMPTY, which is not set"
    ],
    [
      "a variable without a name",
      withMeta({ headers: { a: `\${}` } }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.headers.a names the environment variable , which is not set"
    ],
    [
      "an unknown target",
      { providers: {}, targets: { omega_search: [] } },
      `QUARRY_PROVIDERS (providers.json): targets.omega_search is not a target; the targets are ${targets.join(", ")}`
    ],
    [
      "a target that is not a list",
      { providers: {}, targets: targetsOf(1) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search must be a list of providers, or an object with providers"
    ],
    [
      "a target with a bare name",
      { providers: {}, targets: targetsOf(["a"]) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.0 must be an object"
    ],
    [
      "an unknown provider",
      { providers: { meta }, targets: targetsOf([{ provider: "meta" }, { provider: "mta" }]) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.1 names the provider mta, which is not defined; defined: meta"
    ],
    [
      "an engine of an index",
      { providers: { own: { type: "index" } }, targets: targetsOf([{ provider: "own", engine: "google" }]) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.0 names an engine, but the provider own has none to choose from"
    ],
    [
      "an engine that a provider has not",
      {
        providers: { a: { type: "serpapi", apiKey: "hunter2" } },
        targets: targetsOf([{ provider: "a", engine: "altavista" }])
      },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.0 names the engine altavista, which a does not have; it has google, bing, duckduckgo, yandex, yahoo, baidu, naver"
    ],
    [
      "an address in the clear",
      withMeta({ url: "http://searx.example:8888" }),
      'QUARRY_PROVIDERS (providers.json): providers.meta.url must begin with https unless "insecure" is true'
    ],
    [
      "a provider without its key",
      { providers: { a: { type: "brave" } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.apiKey is missing"
    ],
    [
      "a key in two places",
      { providers: { a: { type: "brave", apiKey: "hunter2", apiKeys: ["hunter2"] } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.apiKeys cannot be combined with apiKey: keep only one of them"
    ],
    [
      "no keys at all",
      { providers: { a: { type: "brave", apiKeys: [] } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.apiKeys must name at least one key"
    ],
    [
      "a key with a space",
      { providers: { a: { type: "brave", apiKey: "hunter2 " } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.apiKey must be a key of printable ASCII characters"
    ],
    [
      "an option that another type has",
      { providers: { a: { type: "brave", apiKey: "hunter2", headers: {} } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a.headers is not allowed here"
    ],
    [
      "no requests a second",
      withMeta({ requestsPerSecond: 0 }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.requestsPerSecond must be a number from 0.001 to 10000"
    ],
    [
      "half a call at once",
      withMeta({ concurrency: 0.5 }),
      "QUARRY_PROVIDERS (providers.json): providers.meta.concurrency must be a whole number from 1 to 10000"
    ],
    [
      "a provider's name with a slash",
      { providers: { "a/b": { type: "index" } }, targets: {} },
      "QUARRY_PROVIDERS (providers.json): providers.a/b has a slash in its name; a slash separates the engine"
    ],
    [
      "a target's object without providers",
      { providers: {}, targets: targetsOf({ hedge: true }) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.providers is missing"
    ],
    [
      "an unknown option of a target",
      { providers: {}, targets: targetsOf({ providers: [], hedged: true }) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.hedged is not allowed here"
    ],
    [
      "two engines at once",
      { providers: { meta }, targets: targetsOf([{ provider: "meta", engine: "google,bing" }]) },
      "QUARRY_PROVIDERS (providers.json): targets.alpha_search.0.engine must be the name of one engine"
    ]
  ]
  for (const [what, content, message] of cases) {
    it.effect(`refuses ${what} in one line`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(readFile(content)).pipe(Effect.orDie)
        assert.strictEqual(error._tag, "ProviderFileInvalid")
        assert.strictEqual(error.message, message)
        assert.notInclude(error.message, "hunter2")
      })
    )
  }

  it.effect("names all faults of a file at once, one a line, and none that only follows from another", () =>
    Effect.gen(function* () {
      const error = yield* readFile({
        providers: {
          a: { type: "brave", concurrency: 0, extra: "hunter2" },
          b: { type: "altavista" },
          c: { type: "searxng", url: "https://a.test", headers: { x: `\${ONE} \${TWO}`, y: `\${THREE}` } },
          d: "hunter2",
          own: { type: "index" }
        },
        targets: {
          alpha_search: [{ provider: "a" }, { provider: "x" }, { provider: "own", engine: "google" }],
          beta_search: 1,
          omega_search: []
        }
      }).pipe(Effect.flip, Effect.orDie)
      const places = error.message
        .split("\n")
        .map((line) => /^QUARRY_PROVIDERS \(providers\.json\): (\S+)/.exec(line)?.[1])
      assert.sameMembers(places, [
        "providers.a.concurrency",
        "providers.a.extra",
        "providers.b.type",
        "providers.c.headers.x",
        "providers.c.headers.x",
        "providers.c.headers.y",
        "providers.d",
        "targets.alpha_search.1",
        "targets.alpha_search.2",
        "targets.beta_search",
        "targets.omega_search"
      ])
      assert.notInclude(error.message, "hunter2")
    })
  )

  it.effect("refuses an address with credentials in the short form", () =>
    Effect.gen(function* () {
      const source = { _tag: "searxng", url: Redacted.make("http://user:hunter2@a.test"), engines } as const
      const error = yield* Effect.flip(read(source)).pipe(Effect.orDie)
      assert.match(error.message, /^SEARXNG_URL must be an http\(s\) address without a user/)
      assert.notInclude(error.message, "hunter2")
    })
  )

  it.effect("says that a file cannot be read", () =>
    Effect.gen(function* () {
      const error = yield* table(file).pipe(
        Effect.flip,
        Effect.orDie,
        Effect.provide(Layer.mergeAll(upstream, index, PacerMemory.layer, FileSystem.layerNoop({})))
      )
      assert.strictEqual(error.message, "QUARRY_PROVIDERS (providers.json): cannot be read (NotFound)")
    })
  )

  it.effect("R63: reads several engines at once, alone and in a list", () =>
    Effect.gen(function* () {
      const providers = { a: { type: "brave", apiKey: "k" }, b: { type: "exa", apiKey: "k" } }
      const members = [{ provider: "a" }, { provider: "b" }]
      const table = yield* readFile({
        providers,
        targets: {
          alpha_search: { fuse: members },
          beta_search: [{ provider: "a" }, { fuse: members, need: 2, wait: "2 seconds" }],
          gamma_search: { providers: [{ fuse: members, wait: 250 }] }
        }
      })
      const shapes = (["alpha_search", "beta_search", "gamma_search"] as const).map((target) =>
        table[target].map((entry) =>
          "fuse" in entry ? [entry.fuse.map(({ name }) => name).join("+"), entry.need, entry.waitMs] : entry.name
        )
      )
      assert.deepStrictEqual(shapes, [[["a+b", 1, 1_500]], ["a", ["a+b", 2, 2_000]], [["a+b", 1, 250]]])
    })
  )

  it.effect("R63: a fusion that cannot work is a fault with its place", () =>
    Effect.gen(function* () {
      const providers = { a: { type: "brave", apiKey: "k" }, b: { type: "exa", apiKey: "k" } }
      const members = [{ provider: "a" }, { provider: "b" }]
      for (const [entry, fault] of [
        [{ fuse: [{ provider: "a" }] }, "targets.alpha_search.fuse must be a list of 2 to 6 providers"],
        [
          { fuse: members, need: 3 },
          "targets.alpha_search.need must be a whole number from 1 to the number of providers"
        ],
        [
          { fuse: members, wait: "a while" },
          'targets.alpha_search.wait must be a duration up to 10000 ms, as in "1500 millis"'
        ],
        [
          { fuse: members, wait: "1 minute" },
          'targets.alpha_search.wait must be a duration up to 10000 ms, as in "1500 millis"'
        ],
        [
          { fuse: [...members, { provider: "c" }] },
          "targets.alpha_search.fuse.2 names the provider c, which is not defined; defined: a, b"
        ],
        [{ fuse: members, wiat: 1 }, "targets.alpha_search.wiat is not an option"]
      ] as const) {
        const error = yield* Effect.flip(readFile({ providers, targets: { alpha_search: entry } }))
        assert.include(error.message, fault.replace(".wiat is not an option", ".wiat"))
      }
    })
  )

  it.effect("R73: reads the operator's name and sentence of a target", () =>
    Effect.gen(function* () {
      const own = { providers: [{ provider: "own" }] }
      const { labels } = yield* readFile({
        providers: { own: { type: "index" } },
        targets: {
          alpha_search: { ...own, name: "General", about: "The open web." },
          beta_search: { ...own, name: "News" },
          gamma_search: own
        }
      })
      assert.deepStrictEqual(labels, {
        alpha_search: { name: "General", about: "The open web." },
        beta_search: { name: "News" }
      })
      for (const label of [{ name: "" }, { name: "a\nb" }, { about: "x".repeat(201) }]) {
        const error = yield* Effect.flip(
          readFile({ providers: { own: { type: "index" } }, targets: { alpha_search: { ...own, ...label } } })
        )
        assert.match(error.message, /targets\.alpha_search\.(name|about) must be text of 1 to/)
      }
    })
  )
})
