import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, type Scope, Tracer } from "effect"
import * as PacerMemory from "../../../src/layers/memory/PacerMemory.ts"
import * as ProviderFile from "../../../src/layers/providers/ProviderFile.ts"
import { UpstreamClient } from "../../../src/layers/providers/UpstreamClient.ts"
import type { Provider } from "../../../src/services/providers/Provider.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { firstOf, foundations } from "../../support/api/ProviderTable.ts"
import { searchRequest } from "../../support/api/requests.ts"
import { type Answer, json, serve } from "../../support/servers/UpstreamServer.ts"
import { key, type UpstreamFixture, upstreams } from "../../support/servers/upstreams.ts"

/** What a test does with the provider of an upstream that answers so. */
const withProvider = Effect.fnUntraced(function* <A>(
  fixture: UpstreamFixture,
  respond: Answer,
  engine: string | undefined,
  use: (provider: Provider) => Effect.Effect<A, never, Scope.Scope>
) {
  const { received, url } = yield* serve(respond)
  const file = {
    providers: { it: { type: fixture.type, url: `${url}/`, ...fixture.entry } },
    targets: { alpha_search: [{ provider: "it", ...(engine === undefined ? {} : { engine }) }] }
  }
  const outcome = yield* Effect.gen(function* () {
    const provider = firstOf(yield* ProviderFile.table({ _tag: "file", path: "providers.json" }))
    return yield* use(provider)
  }).pipe(Effect.provide(foundations(file)), Effect.orDie)
  return { outcome, received }
})

type Fields = Parameters<typeof searchRequest>[0]

const search = (fixture: UpstreamFixture, respond: Answer, fields?: Fields, engine = fixture.engine) =>
  withProvider(fixture, respond, engine, (provider) => Effect.result(provider.search(searchRequest(fields))))

/** The operator's check, which judges what a provider can serve before it asks it. */
const check = (fixture: UpstreamFixture, respond: Answer, fields: Fields, engine = fixture.engine) =>
  withProvider(fixture, respond, engine, (provider) =>
    Effect.gen(function* () {
      const states = yield* ProviderStates
      yield* states.monitor(provider)
      return yield* states.check(searchRequest(fields), 5_000)
    }).pipe(Effect.provide(ProviderStates.layer))
  )

const refused = Effect.fnUntraced(function* (...args: Parameters<typeof search>) {
  const { outcome } = yield* search(...args)
  if (Result.isSuccess(outcome)) return yield* Effect.die("it gave rows")
  return outcome.failure
})

const found = Effect.fnUntraced(function* (...args: Parameters<typeof search>) {
  const { outcome, received } = yield* search(...args)
  if (Result.isFailure(outcome))
    return yield* Effect.die(`refused: ${outcome.failure.reason} (${outcome.failure.message})`)
  return { rows: outcome.success, received }
})

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

for (const fixture of upstreams.filter(({ type }) => type !== "searxng")) {
  describe(fixture.type, () => {
    for (const [index, [fields, sent]] of fixture.requests.entries()) {
      it.live(`maps a search to its request (${index + 1})`, () =>
        Effect.gen(function* () {
          const { received } = yield* found(fixture, json(fixture.answer(range(1, 20))), fields)
          const { actual, expected } = sent(received[0] ?? assert.fail("nothing was sent"))
          assert.deepStrictEqual(actual, expected)
          assert.strictEqual(received.length, 1)
        })
      )
    }

    it.live("its documented answer becomes rows", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(fixture, json(fixture.answer([1, 2])), { num: 2 })
        const html = fixture.type === "brave" ? { isHtml: true as const } : {}
        assert.deepEqual(rows, [
          { url: "https://example.test/1", title: "Title 1", snippet: "Snippet 1", ...html },
          { url: "https://example.test/2", title: "Title 2", snippet: "Snippet 2", ...html }
        ])
      })
    )

    it.live("R14: nothing found is an answer without rows", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(fixture, json(fixture.answer([])))
        assert.deepStrictEqual(rows, [])
      })
    )

    it.live("R14: JSON without the expected form is malformed and not an empty page", () =>
      Effect.gen(function* () {
        for (const body of [{}, [], { unrelated: true }, null, "text"]) {
          const { reason } = yield* refused(fixture, json(body))
          assert.strictEqual(reason, "malformed", JSON.stringify(body))
        }
      })
    )

    for (const [what, respond, reason, retryAfterMs] of fixture.failures) {
      it.live(`${what} is ${reason}`, () =>
        Effect.gen(function* () {
          const refusal = yield* refused(fixture, respond)
          assert.deepStrictEqual([refusal.reason, refusal.retryAfterMs], [reason, retryAfterMs])
          assert.notInclude(refusal.message, key)
        })
      )
    }

    for (const fields of fixture.unserved) {
      it.live(`sends nothing for what it cannot serve: ${JSON.stringify(fields).slice(0, 60)}`, () =>
        Effect.gen(function* () {
          const { outcome, received } = yield* check(fixture, json(fixture.answer([1])), fields)
          assert.strictEqual(outcome[0]?.refusal?.reason, "unserved")
          assert.deepStrictEqual(received, [])
        })
      )
    }

    it.live("no span shows the key or what was searched for", () =>
      Effect.gen(function* () {
        const attributes: Array<unknown> = []
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            const record = span.attribute.bind(span)
            span.attribute = (name, value) => {
              attributes.push([name, String(value)])
              record(name, value)
            }
            return span
          }
        })
        yield* found(fixture, json(fixture.answer([1])), { query: "private matter" }).pipe(
          Effect.withSpan("attempt"),
          Effect.withTracer(tracer)
        )
        const recorded = JSON.stringify(attributes)
        assert.include(recorded, "127.0.0.1")
        for (const hidden of [key, "private"]) assert.notInclude(recorded, hidden)
      })
    )
  })
}

const fixtureOf = (type: string) => upstreams.find((it) => it.type === type) ?? assert.fail(type)

describe("R13: an upstream with 10 a page", () => {
  it.live("gives 20 rows in two calls", () =>
    Effect.gen(function* () {
      const serper = fixtureOf("serper")
      const { received, rows } = yield* found(
        serper,
        (received, response) => {
          const { page } = JSON.parse(received.body)
          json(serper.answer(range((page - 1) * 10 + 1, page * 10)))(received, response)
        },
        { num: 20, page: 2 }
      )
      assert.deepStrictEqual(received.map((it) => JSON.parse(it.body).page).sort(), [3, 4])
      assert.deepStrictEqual(
        rows.map(({ url }) => Number(url.split("/").at(-1))),
        range(21, 40)
      )
    })
  )

  it.live("Tavily, which has no pages, is asked for the rows before as well", () =>
    Effect.gen(function* () {
      const { rows } = yield* found(fixtureOf("tavily"), json(fixtureOf("tavily").answer(range(1, 20))), { page: 2 })
      assert.deepStrictEqual(
        rows.map(({ url }) => Number(url.split("/").at(-1))),
        range(11, 20)
      )
    })
  )
})

describe("SerpApi's engines", () => {
  const cases: ReadonlyArray<readonly [string, Record<string, string>]> = [
    ["bing", { engine: "bing", q: "effect typescript", first: "11", cc: "GB", safeSearch: "off" }],
    ["duckduckgo", { engine: "duckduckgo", q: "effect typescript", start: "10", kl: "uk-en", safe: "-2" }],
    ["yandex", { engine: "yandex", text: "effect typescript", p: "1", lang: "en" }],
    ["yahoo", { engine: "yahoo", p: "effect typescript", b: "11", vc: "gb", vl: "lang_en" }],
    ["baidu", { engine: "baidu", q: "effect typescript", pn: "10" }]
  ]
  for (const [engine, expected] of cases) {
    it.live(`${engine} by its own names`, () =>
      Effect.gen(function* () {
        const { received } = yield* found(
          fixtureOf("serpapi"),
          json(fixtureOf("serpapi").answer([1])),
          { geo: "gb", locale: "en-gb", page: 2 },
          engine
        )
        assert.deepStrictEqual(Object.fromEntries(received[0]?.query ?? []), { ...expected, api_key: key })
      })
    )
  }

  it.live("naver has no second page", () =>
    Effect.gen(function* () {
      const { outcome } = yield* check(fixtureOf("serpapi"), json({}), { page: 2 }, "naver")
      assert.strictEqual(outcome[0]?.refusal?.reason, "unserved")
    })
  )
})

describe("several keys", () => {
  /** What each search came to, and the keys that were sent for it. */
  const searches = (answerTo: (key: string) => Answer, times: number, keys = ["one", "two"]) =>
    Effect.gen(function* () {
      const used: Array<string> = []
      const { url } = yield* serve((received, response) => {
        const sent = String(received.headers["x-subscription-token"])
        used.push(sent)
        answerTo(sent)(received, response)
      })
      const file = {
        providers: { it: { type: "brave", url, apiKeys: keys } },
        targets: { alpha_search: [{ provider: "it" }] }
      }
      const table = yield* ProviderFile.table({ _tag: "file", path: "providers.json" }).pipe(
        Effect.provide(foundations(file)),
        Effect.orDie
      )
      const outcomes = yield* Effect.forEach(range(1, times), () =>
        Effect.match(firstOf(table).search(searchRequest()), {
          onSuccess: ({ length }) => length,
          onFailure: (refusal) => refusal
        })
      )
      return { outcomes, used }
    }).pipe(Effect.provide(Layer.merge(UpstreamClient.layer, PacerMemory.layer)))

  const ok = json(fixtureOf("brave").answer([1]))

  for (const [what, status] of [
    ["quota", 402],
    ["rate_limited", 429],
    ["unauthorized", 401]
  ] as const) {
    it.live(`the next is used at once, and from then on, when one is refused as ${what}`, () =>
      Effect.gen(function* () {
        const { outcomes, used } = yield* searches((key) => (key === "one" ? json({}, status) : ok), 3)
        assert.deepStrictEqual(outcomes, [1, 1, 1])
        assert.deepStrictEqual(used, ["one", "two", "two", "two"])
      })
    )
  }

  it.live("none is blamed when the provider breaks", () =>
    Effect.gen(function* () {
      const { used } = yield* searches((key) => (key === "one" ? json({}, 500) : ok), 2)
      assert.deepStrictEqual(used, ["one", "one"])
    })
  )

  it.live("when all are refused nothing is sent, and the refusal says when the first is back", () =>
    Effect.gen(function* () {
      const { outcomes, used } = yield* searches(
        (key) => json({}, 429, { "retry-after": key === "one" ? "900" : "60" }),
        2
      )
      assert.deepStrictEqual(used, ["one", "two"])
      const last = outcomes[1]
      if (typeof last !== "object") return assert.fail("it gave rows")
      assert.strictEqual(last.reason, "rate_limited")
      assert.isTrue((last.retryAfterMs ?? 0) > 50_000 && (last.retryAfterMs ?? 0) <= 60_000)
      for (const key of ["one", "two"]) assert.notInclude(last.message, key)
    })
  )
})
