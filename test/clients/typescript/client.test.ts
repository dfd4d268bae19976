import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { createQuarry, type Quarry } from "../../../clients/typescript/src/index.ts"
import type { TestAnswer, TestSearch } from "../../../clients/typescript/src/testing/index.ts"
import { freePort } from "../../support/servers/freePort.ts"
import { wholeStackRuns } from "../../support/wholeStackRuns.ts"
import { collect, errorOf, using } from "./support.ts"

const growth = { plan: "growth" } as const

const rows: TestAnswer = [{ title: "Title", url: "https://www.example.com/" }]

/** Answers by what the query says. */
const byQuery = ({ query }: TestSearch): TestAnswer => {
  if (query === "fail") return "upstream_error"
  if (query === "never") return "never"
  if (query === "boom") throw new Error("a bug")
  return rows
}

describe("@quarry/client: answers", () => {
  it("a search, what it cost and what is left", () =>
    using(growth, async (test) => {
      const quarry = test.client()
      assert.strictEqual(quarry.last, undefined)
      const { query, results } = await quarry.query({ query: " css  grid ", num: 2, geo: undefined })
      assert.strictEqual(query, "css grid")
      assert.deepStrictEqual(
        results.organic.map(({ position, url }) => [position, url]),
        [
          [1, "https://www.example.com/1"],
          [2, "https://www.example.com/2"]
        ]
      )
      const { last } = quarry
      assert.deepInclude(last, { status: 200, creditsUsed: 1, replayed: false, balance: 0 })
      assert.deepInclude(last?.quota, { limit: 75_000, used: 0, remaining: 75_000 })
      assert.deepStrictEqual(last?.quota?.resetsAt, new Date("2026-02-01"))
      const resetsAt = new Date(test.clock.now() + 60_000)
      assert.deepStrictEqual(last?.rateLimit, { limit: 300, remaining: 299, resetsAt })
    }))

  it("a batch whose rows fail by themselves", () =>
    using({ ...growth, search: byQuery }, async (test) => {
      const batch = await test.client().bulk(["a", { query: "fail" }, { query: "b", num: 99 }])
      assert.deepInclude(batch, { total: 3, succeeded: 1, failed: 2 })
      assert.deepStrictEqual(
        batch.results.map((row) => (row.status === "ok" ? row.query : row.error)),
        ["a", "upstream_error", "invalid_request"]
      )
      assert.strictEqual((await test.account()).used, 2)
    }))

  it("R46: the lines of a batch as its rows finish", () =>
    using(growth, async (test) => {
      const quarry = createQuarry({ ...test, baseUrl: `${test.baseUrl}/`, apiKey: ` ${test.apiKey}\n` })
      const lines = await collect(quarry.stream({ queries: ["a", "b"], target: "beta_search" }))
      assert.deepStrictEqual(
        lines.map(({ type }) => type),
        ["batch", "row", "row", "summary"]
      )
      assert.deepInclude(lines.at(-1), { total: 2, succeeded: 2, credits_used: 2 })
    }))

  it("R46: a row as soon as it has ended, and not in the order of the batch", async () => {
    let sleep: (ms: number) => Promise<void>
    const search = async ({ query }: TestSearch) => {
      await sleep(Number(query))
      return rows
    }
    await using({ ...growth, search }, async ({ client, clock }) => {
      sleep = clock.sleep
      const startedAt = clock.now()
      const seen: Array<readonly [number, number]> = []
      const reading = (async () => {
        for await (const line of client().stream(["3000", "1000"])) {
          if (line.type === "row") seen.push([line.index, clock.now() - startedAt])
        }
      })()
      await clock.run(reading)
      assert.deepStrictEqual(seen, [
        [1, 1_000],
        [0, 3_000]
      ])
    })
  })

  it("the account, for nothing", () =>
    using({ plan: "starter", balance: 7 }, async (test) => {
      const quarry = test.client()
      assert.deepInclude(await quarry.me(), { plan: "starter", credits_available: 5_007 })
      assert.isUndefined(quarry.last?.creditsUsed)
      assert.strictEqual((await test.account()).used, 0)
    }))

  it("each to the callback of its call and of the client", () =>
    using(growth, async (test) => {
      const seen: Array<string | undefined> = []
      const quarry = test.client({ onAnswer: ({ requestId }) => seen.push(requestId) })
      await quarry.query("a", { onAnswer: ({ requestId }) => seen.push(requestId) })
      assert.lengthOf(seen, 2)
      assert.strictEqual(seen[0], seen[1])
    }))
})

describe("@quarry/client: errors of the API", () => {
  const cases: ReadonlyArray<readonly [string, (quarry: Quarry) => Promise<unknown>]> = [
    ["invalid_request", (quarry) => quarry.query("")],
    ["invalid_request", (quarry) => quarry.bulk([])],
    // A caller without types.
    ["unsupported_geo", (quarry) => quarry.query({ query: "a", ...JSON.parse('{"geo":"uk"}') })],
    ["unsupported_parameter", (quarry) => quarry.query({ query: "a", target: "gamma_search", page: 2 })],
    ["upstream_error", (quarry) => quarry.query("fail")],
    ["upstream_timeout", (quarry) => quarry.query("never")]
  ]
  it.each(cases)("%s comes at once, with what the envelope has", (code, call) =>
    using({ ...growth, search: byQuery }, async (test) => {
      const error = await test.clock.run(errorOf(call(test.client())))
      assert.strictEqual(error.error, code)
      assert.strictEqual(error.attempts, 1)
      assert.strictEqual(error.name, "QuarryError")
      assert.strictEqual("request_id" in error && error.request_id, error.meta?.requestId)
      if (error.error === "invalid_request") assert.lengthOf(error.issues, 1)
      if (error.error === "unsupported_geo") assert.lengthOf(error.details, 193)
    })
  )

  it("unauthorized and not_found", () =>
    using(growth, async (test) => {
      assert.strictEqual((await errorOf(test.client({ apiKey: "sk_live_x" }).me())).error, "unauthorized")
      const error = await errorOf(test.client({ baseUrl: `${test.baseUrl}/api` }).query("a"))
      assert.strictEqual(error.error, "not_found")
    }))

  it("quota_exceeded has the account's figures, and credits that come later are spent", () =>
    using({ plan: "custom", quota: 1 }, async (test) => {
      const quarry = test.client()
      await quarry.query("a")
      const error = await errorOf(quarry.query("b"))
      if (error.error !== "quota_exceeded") return assert.fail(error.error)
      assert.deepInclude(error, { quota: 1, credits_used: 1, remaining: 0, balance: 0, attempts: 1 })
      assert.strictEqual(error.resets_at, "2026-02-01T00:00:00.000Z")
      await test.grant(1)
      await quarry.query("b")
      assert.strictEqual((await test.account()).balance, 0)
    }))

  it("rate_limited waits as long as Retry-After says, and is answered then", () =>
    using({ plan: "trial" }, async (test) => {
      const quarry = test.client()
      await Promise.all(Array.from({ length: 60 }, () => quarry.me()))
      await test.clock.advance(20_000)
      const startedAt = test.clock.now()
      await test.clock.run(quarry.me())
      const waitedMs = test.clock.now() - startedAt
      assert.isAtLeast(waitedMs, 40_000)
      assert.isAtMost(waitedMs, 40_250)
    }))

  it("rate_limited ends a call at once that has no time to wait", () =>
    using({ plan: "trial" }, async (test) => {
      const quarry = test.client({ timeoutMs: 59_000 })
      await Promise.all(Array.from({ length: 60 }, () => quarry.me()))
      const error = await errorOf(quarry.query("a"))
      assert.deepInclude(error, { error: "rate_limited", attempts: 1 })
      assert.strictEqual(error.meta?.rateLimit?.remaining, 0)
    }))

  it("internal_error is tried again, with waits that double, and then ends the call", () =>
    using({ ...growth, search: byQuery }, async (test) => {
      const error = await test.clock.run(errorOf(test.client().query("boom")))
      assert.deepInclude(error, { error: "internal_error", attempts: 6 })
      assert.strictEqual((await test.account()).used, 0)
      const waitedMs = test.clock.now() - Date.UTC(2026, 0, 1)
      assert.isAtLeast(waitedMs, (250 + 500 + 1_000 + 2_000 + 4_000) / 2)
      assert.isAtMost(waitedMs, 250 + 500 + 1_000 + 2_000 + 4_000)
    }))
})

describe("@quarry/client: a network that fails", () => {
  it("R44: an answer that breaks off at any byte is asked for again, and paid once", () =>
    using({ plan: "business", cacheTtlMs: 0 }, async (test) => {
      const quarry = test.client()
      let calls = 0
      await fc.assert(
        fc.asyncProperty(fc.nat(900), fc.boolean(), async (cutAfterBytes, isBatch) => {
          test.break("unsent", "lost", { cutAfterBytes })
          await test.clock.run<unknown>(isBatch ? quarry.bulk([`query ${calls++}`]) : quarry.query(`query ${calls++}`))
          assert.deepInclude(quarry.last, { replayed: true, creditsUsed: 0 })
          assert.strictEqual((await test.account()).used, calls)
        }),
        { numRuns: wholeStackRuns }
      )
    }))

  it("a network that stays away ends the call with the key that finds the lost answer", () =>
    using(growth, async (test) => {
      const quarry = test.client({ maxRetries: 1 })
      test.break("unsent", "lost")
      const error = await test.clock.run(errorOf(quarry.query("a")))
      assert.deepInclude(error, { error: "network", attempts: 2 })
      assert.instanceOf(error.cause, TypeError)
      await quarry.query("a", { idempotencyKey: error.idempotencyKey })
      assert.isTrue(quarry.last?.replayed)
      assert.lengthOf(await test.charged(), 1)
    }))

  it("a call ends after its time, with all its attempts", () =>
    using(growth, async (test) => {
      test.break("lost", "hang")
      const startedAt = test.clock.now()
      const error = await test.clock.run(errorOf(test.client({ timeoutMs: 2_000 }).query("a")))
      assert.deepInclude(error, { error: "timeout", attempts: 2 })
      assert.strictEqual(test.clock.now() - startedAt, 2_000)
    }))

  it("a signal aborts a call before it is sent, while it runs and while it waits, and is let go of", () =>
    using({ ...growth, search: byQuery }, async (test) => {
      const quarry = test.client()
      const controller = new AbortController()
      let listeners = 0
      const signal = new Proxy(controller.signal, {
        get: (target, name) => {
          if (name === "addEventListener") listeners++
          if (name === "removeEventListener") listeners--
          const value = Reflect.get(target, name, target)
          return typeof value === "function" ? value.bind(target) : value
        }
      })
      await quarry.query("a", { signal })
      const running = errorOf(quarry.query("never", { signal }))
      const waiting = errorOf(quarry.query("boom", { signal }))
      await test.clock.advance(100)
      const reason = new Error("The user has left.")
      controller.abort(reason)
      const late = errorOf(quarry.query("b", { signal }))
      for (const [call, attempts] of [
        [running, 1],
        [waiting, 1],
        [late, 0]
      ] as const) {
        const error = await call
        assert.deepInclude(error, { error: "aborted", attempts })
        assert.strictEqual(error.cause, reason)
      }
      assert.strictEqual(listeners, 0)
    }))

  it("a stream that is cut says how many rows came, and does not run them again", () =>
    using(growth, async (test) => {
      test.break({ cutAfterBytes: 700 })
      const seen: Array<string> = []
      const error = await errorOf(
        (async () => {
          for await (const { type } of test.client().stream(["a", "b", "c", "d"])) seen.push(type)
        })()
      )
      if (error.error !== "cut") return assert.fail(error.error)
      assert.isAbove(error.rows, 0)
      assert.lengthOf(seen, error.rows + 1)
      assert.strictEqual(error.attempts, 1)
    }))

  it("R44: a stream with a key goes on where it was cut, each line once, and is paid once", () =>
    using({ plan: "business", cacheTtlMs: 0 }, async (test) => {
      let streams = 0
      await fc.assert(
        fc.asyncProperty(fc.nat(2_000), fc.nat(2_000), async (first, second) => {
          test.break({ cutAfterBytes: first }, { cutAfterBytes: second })
          const stream = test.client().stream(["a", "b", "", "d"], { idempotencyKey: `key-${streams++}` })
          const lines = await test.clock.run(collect(stream))
          assert.deepStrictEqual(
            lines.map((line) => (line.type === "row" ? line.index : line.type)),
            ["batch", 0, 1, 2, 3, "summary"]
          )
          assert.strictEqual((await test.account()).used, 3 * streams)
        }),
        { numRuns: wholeStackRuns }
      )
    }))

  it("R21: leaving the loop stops the rows that have not started", () =>
    using({ plan: "trial", search: async ({ query }) => (query === "a" ? rows : "never") }, async (test) => {
      const queries = ["a", ...Array.from({ length: 20 }, (_, index) => `never ${index}`)]
      for await (const line of test.client().stream(queries)) if (line.type === "row") break
      await test.clock.advance(60_000)
      const { used } = await test.account()
      assert.isAtLeast(used, 1)
      assert.isBelow(used, 10)
    }))

  it("a stream without a byte for its time is a timeout, and one whose reader is slow is not", () =>
    using({ ...growth, search: byQuery }, async (test) => {
      const quarry = test.client({ timeoutMs: 12_000 })
      const stream = quarry.stream(["a", "never"])
      await test.clock.run(stream.next())
      await test.clock.advance(14_000)
      await test.clock.run(stream.next())
      const lines = await test.clock.run(collect(stream))
      assert.strictEqual(lines.at(-1)?.type, "summary")
      test.break("hang")
      assert.strictEqual((await test.clock.run(errorOf(collect(quarry.stream(["a"]))))).error, "timeout")
    }))
})

describe("@quarry/client: answers that are not Quarry's", () => {
  /** A proxy with its own pages, before the service. */
  const proxied = (pages: ReadonlyArray<Response>, call: (quarry: Quarry) => Promise<unknown>) => {
    let sent = 0
    return new Promise<number>((resolve, reject) =>
      using(growth, async (test) => {
        const fetch: typeof test.fetch = async (url, init) => pages[sent++] ?? test.fetch(url, init)
        await test.clock.run(call(test.client({ fetch })))
        resolve(sent)
      }).catch(reject)
    )
  }

  const page = (status: number, headers = {}) => new Response("<h1>An error</h1>", { status, headers })

  it("a call with a key, or for nothing, goes on after any page of a failing proxy", async () => {
    const pages = [page(500), page(502), page(503), page(504), page(429), page(200)]
    assert.strictEqual(await proxied(pages.slice(0, 5), (quarry) => quarry.query("a")), 6)
    assert.strictEqual(await proxied(pages.slice(5), (quarry) => quarry.query("a")), 2)
    assert.strictEqual(await proxied([page(502), page(504)], (quarry) => quarry.me()), 3)
  })

  it("a stream without a key goes on only where nothing can have been charged", async () => {
    assert.strictEqual(await proxied([page(503), page(429)], (quarry) => collect(quarry.stream(["a"]))), 3)
    for (const status of [403, 404, 500, 502, 504]) {
      await proxied([page(status)], async (quarry) => {
        assert.deepInclude(await errorOf(collect(quarry.stream(["a"]))), { error: "network", status, attempts: 1 })
      })
    }
  })

  it("Retry-After may be a date", () =>
    using(growth, async (test) => {
      const date = new Date(test.clock.now() + 9_000).toUTCString()
      let sent = 0
      const fetch: typeof test.fetch = async (url, init) =>
        sent++ === 0 ? page(503, { "retry-after": date }) : test.fetch(url, init)
      await test.clock.run(test.client({ fetch }).query("a"))
      assert.isAtLeast(test.clock.now() - Date.UTC(2026, 0, 1), 9_000)
    }))

  it("a connection that was refused has sent nothing, so that a stream without a key goes on", () =>
    using(growth, async (test) => {
      let sent = 0
      const refused = new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) })
      const fetch: typeof test.fetch = (url, init) => (sent++ === 0 ? Promise.reject(refused) : test.fetch(url, init))
      const lines = await test.clock.run(collect(test.client({ fetch }).stream(["a"])))
      assert.strictEqual(lines.at(-1)?.type, "summary")
      test.break("lost")
      assert.strictEqual((await errorOf(collect(test.client().stream(["a"])))).error, "network")
    }))

  it("what can never be sent fails at once, and a key that cannot be sent is in no message", async () => {
    const baseUrl = "http://quarry.test"
    for (const apiKey of ["sk_live_\u0000secret", "sk_live_ secret", "", "sk_live_sécret"]) {
      assert.throws(() => createQuarry({ baseUrl, apiKey }), /^apiKey is not the text of a key\.$/)
    }
    assert.throws(() => createQuarry({ baseUrl: "quarry.test" }), /^baseUrl is not an address/)
    const call = createQuarry({ baseUrl }).query("a", { idempotencyKey: "\n\u0000" })
    assert.instanceOf(await call.catch((error: unknown) => error), TypeError)
  })

  it("a server that refuses connections is reported after one quick retry, with its address and the cause", async () => {
    const baseUrl = `http://127.0.0.1:${await freePort()}`
    const startedAt = performance.now()
    const error = await errorOf(createQuarry({ baseUrl: `${baseUrl}/path`, apiKey: "sk_live_secret" }).query("a"))
    assert.isBelow(performance.now() - startedAt, 5_000)
    assert.deepInclude(error, { error: "network", attempts: 2 })
    assert.strictEqual(
      error.message,
      `Could not connect to ${baseUrl}: the connection was refused (ECONNREFUSED). Check baseUrl.`
    )
  })

  it("what cannot be serialized rejects, and leaves no timer that keeps a script alive", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
    const before = timers()
    const quarry = createQuarry({ baseUrl: "http://quarry.test" })
    // Values that a caller without types can pass.
    const untyped = quarry as unknown as Record<"query" | "bulk", (value: unknown) => Promise<unknown>>
    for (const value of [undefined, null, 1]) {
      assert.instanceOf(await untyped.query(value).catch((error: unknown) => error), TypeError)
      assert.instanceOf(await untyped.bulk(value).catch((error: unknown) => error), TypeError)
    }
    assert.instanceOf(await untyped.bulk([{ query: "a", num: 1n }]).catch((error: unknown) => error), TypeError)
    assert.strictEqual(timers(), before)
  })

  it("an error has the time after which the server asks to try again", () =>
    using(growth, async (test) => {
      const body = JSON.stringify({ error: "rate_limited", message: "Too many requests.", request_id: "1" })
      const fetch: typeof test.fetch = async () => new Response(body, { status: 429, headers: { "retry-after": "7" } })
      const error = await errorOf(test.client({ fetch, maxRetries: 0 }).query("a"))
      assert.deepInclude(error, { error: "rate_limited", retryAfterMs: 7_000 })
    }))

  it("a stream delivers no line after its call was aborted, even of those that have arrived", () =>
    using(growth, async (test) => {
      const controller = new AbortController()
      // All lines in one chunk.
      const fetch: typeof test.fetch = async (url, init) => {
        const response = await test.fetch(url, init)
        return new Response(await response.text(), response)
      }
      const seen: Array<string> = []
      const read = async () => {
        for await (const { type } of test.client({ fetch }).stream(["a", "b", "c"], { signal: controller.signal })) {
          seen.push(type)
          controller.abort()
        }
      }
      assert.strictEqual((await errorOf(read())).error, "aborted")
      assert.deepStrictEqual(seen, ["batch"])
    }))
})
