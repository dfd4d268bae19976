import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, type Scope, Tracer } from "effect"
import type { Refusal } from "../../../../src/domain/providers/Refusal.ts"
import * as PacerMemory from "../../../../src/layers/memory/PacerMemory.ts"
import * as SearXNG from "../../../../src/layers/providers/adapters/SearXNG.ts"
import { UpstreamClient } from "../../../../src/layers/providers/UpstreamClient.ts"
import type { Pacer } from "../../../../src/services/providers/Pacer.ts"
import { searchRequest } from "../../../support/api/requests.ts"
import { answer, row, rows } from "../../../support/servers/SearXNGServer.ts"
import { type Answer, json, serve, text } from "../../../support/servers/UpstreamServer.ts"

const secret = "Basic c2VjcmV0OnNlY3JldA=="

/** Searches an instance that answers so; the engine is google. */
const search = (
  respond: Answer,
  fields?: Parameters<typeof searchRequest>[0],
  options?: { readonly engine?: string | undefined; readonly pageSize?: number; readonly path?: string }
) =>
  Effect.gen(function* () {
    const { received, url } = yield* serve(respond)
    const instance = yield* SearXNG.make("meta", {
      url: `${url}${options?.path ?? "/"}`,
      headers: { authorization: Redacted.make(secret), "x-proxy-key": Redacted.make("hunter2") },
      ...(options?.pageSize === undefined ? {} : { pageSize: options.pageSize })
    })
    const provider = instance(options && "engine" in options ? options.engine : "google")
    const outcome = yield* Effect.result(provider.search(searchRequest(fields)))
    return { outcome, received, provider, url }
  })

const found = (...args: Parameters<typeof search>) =>
  Effect.flatMap(search(...args), ({ outcome, ...rest }) =>
    outcome._tag === "Success"
      ? Effect.succeed({ ...rest, rows: outcome.success })
      : Effect.die(`refused: ${outcome.failure.reason} (${outcome.failure.message})`)
  )

const refused = (...args: Parameters<typeof search>) =>
  Effect.flatMap(
    search(...args),
    ({ outcome }): Effect.Effect<Refusal> =>
      outcome._tag === "Failure" ? Effect.succeed(outcome.failure) : Effect.die("it gave rows")
  )

/** Answers each page with its rows, ten to a page unless told otherwise. */
const paged =
  (pageSize = 10): Answer =>
  (received, response) => {
    const page = Number(received.query.get("pageno"))
    json(answer({ results: rows((page - 1) * pageSize + 1, page * pageSize) }))(received, response)
  }

const urls = (list: ReadonlyArray<{ readonly url: string }>) => list.map(({ url }) => Number(url.split("/").at(-1)))

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

const network = Layer.merge(UpstreamClient.layer, PacerMemory.layer)

describe("SearXNG", () => {
  const promise = (title: string, body: () => Effect.Effect<void, never, UpstreamClient | Pacer | Scope.Scope>) =>
    it.live(title, () => body().pipe(Effect.provide(network), Effect.orDie))

  describe("the request", () => {
    promise("asks the engine for the page, language and safe-search level", () =>
      Effect.gen(function* () {
        const { provider, received } = yield* found(json(answer({ results: rows(1, 10) })), {
          query: "café & co",
          locale: "pt-br",
          safe: "strict"
        })
        assert.strictEqual(provider.name, "meta/google")
        assert.strictEqual(received.length, 1)
        assert.strictEqual(received[0]?.path, "/search")
        assert.deepStrictEqual(Object.fromEntries(received[0]?.query ?? []), {
          q: "café & co",
          format: "json",
          engines: "google",
          pageno: "1",
          language: "pt-BR",
          safesearch: "2"
        })
        assert.strictEqual(received[0]?.headers.authorization, secret)
        assert.match(received[0]?.headers.traceparent?.toString() ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-/)
      }).pipe(
        Effect.withSpan("attempt"),
        Effect.withTracer(Tracer.make({ span: (options) => new Tracer.NativeSpan(options) }))
      )
    )

    for (const [path, asked] of [
      ["/search", "/search"],
      ["/search/", "/search"],
      ["/searxng", "/searxng/search"],
      ["/searxng/search//", "/searxng/search"],
      ["/research", "/research/search"]
    ] as const) {
      promise(`an instance given as ${path} is asked at ${asked}`, () =>
        Effect.gen(function* () {
          const { received } = yield* found(json(answer({ results: [row(1)] })), {}, { engine: "google", path })
          assert.deepStrictEqual(
            received.map(({ path }) => path),
            [asked]
          )
        })
      )
    }

    for (const [safe, level] of [
      ["off", "0"],
      ["moderate", "1"]
    ] as const) {
      promise(`sends safe ${safe} as ${level}`, () =>
        Effect.gen(function* () {
          const { received } = yield* found(json(answer({ results: [row(1)] })), { safe })
          assert.strictEqual(received[0]?.query.get("safesearch"), level)
        })
      )
    }

    promise("without an engine leaves the choice to the instance and takes every row", () =>
      Effect.gen(function* () {
        const { provider, received, rows } = yield* found(
          json(answer({ results: [row(1, "bing"), row(2, "brave")] })),
          {},
          { engine: undefined }
        )
        assert.strictEqual(provider.name, "meta")
        assert.isFalse(received[0]?.query.has("engines"))
        assert.deepStrictEqual(urls(rows), [1, 2])
      })
    )

    promise("no span shows what was searched for or a header's value", () =>
      Effect.gen(function* () {
        const attributes: Array<unknown> = []
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            const record = span.attribute.bind(span)
            span.attribute = (key, value) => {
              attributes.push([key, String(value)])
              record(key, value)
            }
            return span
          }
        })
        yield* found(json(answer({ results: [row(1)] })), { query: "private matter" }).pipe(
          Effect.withSpan("attempt"),
          Effect.withTracer(tracer)
        )
        const recorded = JSON.stringify(attributes)
        assert.include(recorded, "127.0.0.1")
        for (const hidden of ["private", "hunter2", secret]) assert.notInclude(recorded, hidden)
      })
    )
  })

  describe("R13: pages", () => {
    promise("one upstream page when it holds all rows", () =>
      Effect.gen(function* () {
        const { received, rows } = yield* found(paged(), { num: 10, page: 3 })
        assert.deepStrictEqual(
          received.map(({ query }) => query.get("pageno")),
          ["3"]
        )
        assert.deepStrictEqual(urls(rows), range(21, 30))
      })
    )

    promise("two for num 20, in order whichever comes first", () =>
      Effect.gen(function* () {
        const held: Array<() => void> = []
        const { rows } = yield* found(
          (received, response) => {
            // The first page is held back until the second is answered: asked one by one they would wait forever.
            if (received.query.get("pageno") === "1") held.push(() => paged()(received, response))
            else paged()(received, response)
            if (received.query.get("pageno") === "2") setImmediate(() => held.forEach((answer) => void answer()))
          },
          { num: 20 }
        )
        assert.deepStrictEqual(urls(rows), range(1, 20))
      })
    )

    promise("rows 15 to 21 of an upstream with 10 a page are on pages 2 and 3", () =>
      Effect.gen(function* () {
        const { received, rows } = yield* found(paged(), { num: 7, page: 3 })
        assert.deepStrictEqual(received.map(({ query }) => query.get("pageno")).sort(), ["2", "3"])
        assert.deepStrictEqual(urls(rows).slice(0, 7), range(15, 21))
      })
    )

    promise("an upstream with 20 a page needs one for num 20", () =>
      Effect.gen(function* () {
        const { received, rows } = yield* found(paged(20), { num: 20 }, { pageSize: 20 })
        assert.strictEqual(received.length, 1)
        assert.deepStrictEqual(urls(rows), range(1, 20))
      })
    )

    promise("rows of the first page are an answer when the second fails", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(
          (received, response) =>
            (received.query.get("pageno") === "1" ? paged() : json({ error: "search error" }, 500))(received, response),
          { num: 20 }
        )
        assert.deepStrictEqual(urls(rows), range(1, 10))
      })
    )

    promise("rows of the second page are none when the first fails", () =>
      Effect.gen(function* () {
        const refusal = yield* refused(
          (received, response) =>
            (received.query.get("pageno") === "2" ? paged() : json({ error: "search error" }, 500))(received, response),
          { num: 20 }
        )
        assert.strictEqual(refusal.reason, "unreachable")
      })
    )
  })

  describe("answers", () => {
    promise("rows become url, title and snippet", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(json(answer({ results: [row(1)] })))
        assert.deepStrictEqual(rows, [{ url: "https://example.test/1", title: "Title 1", snippet: "Snippet 1" }])
      })
    )

    promise("a row without a description has an empty snippet; anything else than a row is left out", () =>
      Effect.gen(function* () {
        const { content: _, ...bare } = row(1)
        const results = [bare, { ...row(2), content: null }, { ...row(3), url: null }, "nonsense", row(4)]
        const { rows } = yield* found(json(answer({ results })))
        assert.deepStrictEqual(
          rows.map(({ snippet }) => snippet),
          ["", "", "Snippet 4"]
        )
      })
    )

    promise("R12: a row without a title is kept with an empty one", () =>
      Effect.gen(function* () {
        const { title: _, ...untitled } = row(1)
        const { rows } = yield* found(json(answer({ results: [{ ...row(2), title: null }, untitled, row(3)] })))
        assert.deepStrictEqual(
          rows.map(({ title, url }) => [url, title]),
          [
            ["https://example.test/2", ""],
            ["https://example.test/1", ""],
            ["https://example.test/3", "Title 3"]
          ]
        )
      })
    )

    promise("a row that several engines gave is the engine's when it is among them", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(
          json(answer({ results: [{ ...row(1, "bing"), engines: ["bing", "google"] }, row(2, "bing")] }))
        )
        assert.deepStrictEqual(urls(rows), [1])
      })
    )

    promise("R14: rows win over an engine that is reported unresponsive", () =>
      Effect.gen(function* () {
        const { rows } = yield* found(
          json(answer({ results: [row(1)], unresponsive_engines: [["google", "timeout"]] }))
        )
        assert.strictEqual(rows.length, 1)
      })
    )

    const engines =
      (...names: ReadonlyArray<string>): Answer =>
      (received, response) =>
        json(received.path === "/config" ? { engines: names.map((name) => ({ name })) } : answer({}))(
          received,
          response
        )

    promise("R14: no rows from an engine the instance has is an empty page", () =>
      Effect.gen(function* () {
        const { received, rows } = yield* found(engines("bing", "google"))
        assert.deepStrictEqual(rows, [])
        assert.deepStrictEqual(
          received.map(({ path }) => path),
          ["/search", "/config"]
        )
      })
    )

    promise("R14: no rows is a refusal while the engine may be suspended for its last failure", () =>
      Effect.gen(function* () {
        const answers = [
          answer({}),
          answer({ unresponsive_engines: [["google", "CAPTCHA"]] }),
          answer({}),
          answer({ results: [row(1)] }),
          answer({})
        ]
        const { url } = yield* serve((received, response) =>
          json(received.path === "/search" ? answers.shift() : {})(received, response)
        )
        const google = (yield* SearXNG.make("meta", { url }))("google")
        const outcomes = yield* Effect.forEach(Array.from(answers), () =>
          Effect.match(google.search(searchRequest()), {
            onSuccess: ({ length }) => length,
            onFailure: ({ reason }) => reason
          })
        )
        assert.deepStrictEqual(outcomes, [0, "blocked", "blocked", 1, 0])
      })
    )

    promise("R14: no rows is an empty page when the instance hides its engines", () =>
      Effect.gen(function* () {
        const { rows } = yield* found((received, response) =>
          (received.path === "/config" ? text("no", 404) : json(answer({})))(received, response)
        )
        assert.deepStrictEqual(rows, [])
      })
    )

    promise("R14: no rows from an engine the instance does not have is a refusal", () =>
      Effect.map(refused(engines("bing")), ({ message, reason }) => {
        assert.strictEqual(reason, "malformed")
        assert.include(message, "google")
      })
    )
  })

  describe("refusals", () => {
    const page = "<!doctype html><html><body>secret page</body></html>"
    const cases: ReadonlyArray<readonly [string, Answer, Refusal["reason"], RegExp?]> = [
      [
        "rows of other engines only",
        json(answer({ results: rows(1, 10, "bing") })),
        "malformed",
        /engine named google/
      ],
      ["other engines unresponsive only", json(answer({ unresponsive_engines: [["bing", "timeout"]] })), "malformed"],
      ...(
        [
          ["CAPTCHA", "blocked"],
          ["blocked", "blocked"],
          ["access denied", "blocked"],
          ["Suspended: CAPTCHA", "blocked"],
          ["Suspended: access denied", "blocked"],
          ["Suspended: too many requests", "blocked"],
          ["too many requests", "rate_limited"],
          ["timeout", "timeout"],
          ["HTTP error", "unreachable"],
          ["parsing error", "unreachable"],
          ["network error", "unreachable"],
          ["unexpected crash", "unreachable"],
          ["etwas anderes", "unreachable"]
        ] as const
      ).map(
        ([word, reason]) => [`"${word}"`, json(answer({ unresponsive_engines: [["google", word]] })), reason] as const
      ),
      ["400", json({ error: "No query" }, 400), "malformed"],
      ["401", text(page, 401), "unauthorized"],
      ["403, as without json in its formats", text(page, 403), "malformed", /json to search\.formats/],
      ["404", text(page, 404), "malformed"],
      ["500", json({ error: "search error" }, 500), "unreachable"],
      ["502 of a proxy", text(page, 502), "unreachable"],
      ["HTML", text(page, 200), "malformed", /HTML/],
      ["text that is no JSON", (_, response) => response.end("oops"), "malformed"],
      ["JSON of another form", json([1, 2]), "malformed"],
      ["malformed rows", json(answer({ results: [{ url: 1 }, null] })), "malformed"],
      [
        "more than 2 MiB",
        json(answer({ results: [{ ...row(1), content: "x".repeat(2 * 1024 * 1024) }] })),
        "malformed"
      ],
      [
        "more than 2 MiB without end",
        (_, response) => {
          const more = () => {
            if (!response.destroyed) response.write("x".repeat(65_536), () => setImmediate(more))
          }
          more()
        },
        "malformed",
        /larger/
      ],
      ["a connection that is cut", (_, response) => response.destroy(), "unreachable"],
      [
        "a body that is cut",
        (_, response) => {
          response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
          response.write('{"results":[')
          setImmediate(() => response.destroy())
        },
        "unreachable"
      ]
    ]
    for (const [what, respond, reason, message] of cases) {
      promise(`${what} is ${reason}`, () =>
        Effect.map(refused(respond), (refusal) => {
          assert.strictEqual(refusal.reason, reason)
          if (message !== undefined) assert.match(refusal.message, message)
          for (const hidden of [secret, "hunter2", "secret page"]) assert.notInclude(refusal.message, hidden)
        })
      )
    }

    promise("429 is rate_limited, with the time it asks for", () =>
      Effect.map(refused(text("Too Many Requests", 429, { "retry-after": "120" })), (refusal) => {
        assert.deepStrictEqual([refusal.reason, refusal.retryAfterMs], ["rate_limited", 120_000])
      })
    )

    promise("a redirect is malformed and not followed", () =>
      Effect.gen(function* () {
        const elsewhere = yield* serve(json(answer({ results: rows(1, 10) })))
        const refusal = yield* refused(text("", 302, { location: `${elsewhere.url}/search` }))
        assert.strictEqual(refusal.reason, "malformed")
        assert.deepStrictEqual(elsewhere.received, [])
      })
    )

    promise("nothing that listens is unreachable", () =>
      Effect.gen(function* () {
        const { close, url } = yield* serve(json({}))
        yield* close
        const instance = yield* SearXNG.make("meta", { url })
        const refusal = yield* Effect.flip(instance("google").search(searchRequest())).pipe(Effect.orDie)
        assert.strictEqual(refusal.reason, "unreachable")
      })
    )

    promise("a search that is given up closes its connection", () =>
      Effect.gen(function* () {
        const arrived = Deferred.makeUnsafe<void>()
        const closed = Deferred.makeUnsafe<void>()
        const fiber = yield* Effect.forkChild(
          search((_, response) => {
            response.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
            Deferred.doneUnsafe(arrived, Effect.void)
          })
        )
        yield* Deferred.await(arrived)
        // Nothing answers, so that only the end of the search can close the connection.
        yield* Fiber.interrupt(fiber).pipe(Effect.forkChild)
        yield* Deferred.await(closed)
      })
    )
  })
})
