import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { UpstreamError } from "../../../src/domain/errors.ts"
import type { BoundsChange } from "../../../src/domain/keys/KeyBounds.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, aKeyOf, type Caller, demoOrigin, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

let runs = 0

/** Providers that count their searches, and that fail or wait when the query says so. */
const providers = providing(({ query }) => {
  runs++
  if (query === "fail") return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
  if (query === "boom") return Effect.die(new Error("a bug"))
  if (query === "never") return Effect.never
  return Effect.as(Effect.sleep(query === "slow" ? "3 seconds" : 0), found(3))
})

type Send = (api: TestApi.TestApi) => Effect.Effect<TestApi.Answer>

/** Sends a request and moves the clock until it is answered. */
const answerTo = Effect.fnUntraced(function* (send: Send) {
  const fiber = yield* Effect.forkChild(send(yield* TestApi.make))
  while (fiber.pollUnsafe() === undefined) {
    yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    yield* TestClock.adjust("250 millis")
  }
  return yield* Fiber.join(fiber)
})

type Sender = Pick<Caller, "auth">

const search =
  (caller: Sender, key: string, query = "css grid"): Send =>
  (api) =>
    api.get(`/v1/query?query=${encodeURIComponent(query)}`, { ...caller.auth, "idempotency-key": key })

const batch =
  (caller: Sender, key: string, ...queries: ReadonlyArray<unknown>): Send =>
  (api) =>
    api.send("POST", "/v1/bulk", {
      headers: { ...caller.auth, "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ queries })
    })

const growth = aCaller({ plan: "growth" })

const usedBy = ({ account }: Caller) =>
  Effect.flatMap(Ledger, (ledger) => Effect.map(ledger.allowance(account), ({ used }) => used))

const assertReplay = (first: TestApi.Answer, again: TestApi.Answer) => {
  assert.strictEqual(again.status, first.status)
  assert.strictEqual(first.headers.get("idempotent-replayed"), null)
  assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
  assert.strictEqual(again.headers.get("x-credits-used"), "0")
  assert.notStrictEqual(again.headers.get("x-request-id"), first.headers.get("x-request-id"))
}

const assertKeyIssue = (answer: TestApi.Answer) => {
  assert.strictEqual(answer.status, 400)
  assert.strictEqual(answer.json.error, "invalid_request")
  assert.strictEqual(answer.json.issues.at(-1).field, "Idempotency-Key")
}

describe("R44: Idempotency-Key", () => {
  it.effect("R44: a repeated search has the first answer byte for byte, costs nothing and counts one hit", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const first = yield* answerTo(search(caller, "key-1"))
      const again = yield* answerTo(search(caller, '"key-1"'))
      assertReplay(first, again)
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("x-quota-used"), "1")
      const hits = [first, again].map(({ headers }) => Number(headers.get("x-ratelimit-remaining")))
      assert.strictEqual(hits[1], (hits[0] ?? 0) - 1)
      assert.strictEqual(yield* usedBy(caller), 1)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: a 502 and a 504 are replayed with the replay's own request id", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      for (const query of ["fail", "never"]) {
        const first = yield* answerTo(search(caller, query, query))
        const again = yield* answerTo(search(caller, query, query))
        assertReplay(first, again)
        assert.strictEqual(first.status, query === "fail" ? 502 : 504)
        assert.deepStrictEqual(again.json, { ...first.json, request_id: again.headers.get("x-request-id") })
      }
      assert.strictEqual(yield* usedBy(caller), 2)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: a batch is replayed byte for byte with its failed rows", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const send = batch(caller, "b", "one", { query: "two", num: 2 }, "fail", { query: "" })
      const first = yield* answerTo(send)
      const again = yield* answerTo(send)
      assertReplay(first, again)
      assert.strictEqual(first.json.succeeded, 2)
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(yield* usedBy(caller), 3)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44, R46: a batch is replayed in the form that is asked for, its lines in the order of the request", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const lines: Send = (api) =>
        api.send("POST", "/v1/bulk", {
          headers: {
            ...caller.auth,
            accept: "application/x-ndjson",
            "content-type": "application/json",
            "idempotency-key": "b"
          },
          body: JSON.stringify({ queries: ["slow", "fail", "one"] })
        })
      const first = yield* answerTo(lines)
      const again = yield* answerTo(lines)
      const whole = yield* answerTo(batch(caller, "b", "slow", "fail", "one"))
      assertReplay(first, again)
      const read = ({ text }: TestApi.Answer) =>
        text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      const { results, ...counts } = whole.json
      assert.deepStrictEqual(read(again), [
        { type: "batch", batch_id: counts.batch_id, total: 3 },
        ...results.map((row: object, index: number) => ({ type: "row", index, ...row })),
        { type: "summary", ...counts, credits_used: 0 }
      ])
      assert.deepStrictEqual(read(first).slice(0, -1), read(again).slice(0, -1))
      assert.strictEqual(read(first).at(-1).credits_used, 3)
      assert.strictEqual(again.headers.get("content-type"), "application/x-ndjson")
      assert.strictEqual(yield* usedBy(caller), 3)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: a key belongs to the decoded request: another one is 400, the same in other words is not", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      yield* answerTo(search(caller, "a", "css grid"))
      assertKeyIssue(yield* answerTo(search(caller, "a", "css flex")))
      assertReplay(
        yield* answerTo(search(caller, "b", "css grid")),
        yield* answerTo((api) =>
          api.get("/v1/query?num=10&query=%20css%20%20grid", { ...caller.auth, "idempotency-key": "b" })
        )
      )
      assert.strictEqual((yield* answerTo(batch(caller, "a", "css grid"))).status, 200)
      assertKeyIssue(yield* answerTo(batch(caller, "a", "css flex")))
      assert.strictEqual(yield* usedBy(caller), 3)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: a 500 and a 402 are run again", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const before = runs
      for (let attempt = 0; attempt < 2; attempt++) {
        assert.strictEqual((yield* answerTo(search(caller, "a", "boom"))).status, 500)
      }
      assert.strictEqual(runs - before, 2)
      const poor = yield* aCaller({ plan: "custom", quota: 0 })
      assert.strictEqual((yield* answerTo(search(poor, "a"))).status, 402)
      yield* Effect.flatMap(Ledger, (ledger) => ledger.grant(poor.account.id, 1, "for a test"))
      const first = yield* answerTo(search(poor, "a"))
      // No credit is left, and a replay needs none.
      assertReplay(first, yield* answerTo(search(poor, "a")))
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: a request waits for the first one with its key, and has its answer", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const [first, again] = yield* Effect.all(
        [answerTo(search(caller, "a", "slow")), answerTo(search(caller, "a", "slow"))],
        { concurrency: "unbounded" }
      )
      const [charged, replayed] = first.headers.has("idempotent-replayed") ? [again, first] : [first, again]
      assertReplay(charged, replayed)
      assert.strictEqual(replayed.text, charged.text)
      assert.strictEqual(yield* usedBy(caller), 1)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: after the time of a search it waits no longer: 409 with Retry-After", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const ledger = yield* Ledger
      const content = JSON.stringify({
        target: "alpha_search",
        query: "css grid",
        geo: "us",
        locale: "en-us",
        page: 1,
        num: 10,
        safe: "off"
      })
      const held = yield* ledger.reserveKeyed(caller.account, 1, { route: "query", key: "a", content })
      assert.strictEqual(held._tag, "held")
      const answer = yield* answerTo(search(caller, "a"))
      assert.strictEqual(answer.status, 409)
      assert.strictEqual(answer.json.error, "idempotency_in_progress")
      assert.strictEqual(answer.headers.get("retry-after"), "1")
      assert.strictEqual(answer.headers.get("x-credits-used"), null)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44, R6: a key that cannot be read is an issue beside those of the request, which is not run", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      for (const key of ["", "a b", "é", '"', '"a', '""', '"a"b"', "x".repeat(256)]) {
        const answer = yield* answerTo(search(caller, key))
        assertKeyIssue(answer)
        assert.lengthOf(answer.json.issues, 1)
      }
      for (const answer of [
        yield* answerTo(search(caller, "a b", "")),
        yield* answerTo((api) =>
          api.send("POST", "/v1/bulk", {
            headers: { ...caller.auth, "content-type": "application/json", "idempotency-key": "" },
            body: JSON.stringify({ queries: [] })
          })
        )
      ]) {
        assertKeyIssue(answer)
        assert.lengthOf(answer.json.issues, 2)
      }
      assert.strictEqual(yield* usedBy(caller), 0)
    }).pipe(Effect.provide(services(providers)))
  )

  const narrowed = Effect.fnUntraced(function* ({ account }: Caller, bounds: BoundsChange) {
    const { secret } = yield* Effect.flatMap(KeyStore, (keys) =>
      keys.create(account.id, { label: "narrowed", mode: "live", bounds })
    )
    return { account, auth: { authorization: `Bearer ${Redacted.value(secret)}` } }
  }, Effect.orDie)

  const onBeta = { query: "css flex", target: "beta_search" }

  it.effect("R44, R50: a replay gives a key nothing of a target that it may not use, in either form", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const limited = yield* narrowed(caller, { targets: ["beta_search"] })
      const alone = yield* answerTo(search(caller, "a"))
      const refused = yield* answerTo(search(limited, "a"))
      assert.deepStrictEqual([refused.status, refused.json.error], [400, "unsupported_parameter"])
      assert.notInclude(refused.text, alone.json.results.organic[0].url)

      const first = yield* answerTo(batch(caller, "b", "css grid", onBeta))
      assert.strictEqual(first.json.succeeded, 2)
      const again = yield* answerTo(batch(limited, "b", "css grid", onBeta))
      assertReplay(first, again)
      assert.deepInclude(again.json, { batch_id: first.json.batch_id, total: 2, succeeded: 1, failed: 1 })
      assert.deepInclude(again.json.results[0], { status: "error", error: "unsupported_parameter" })
      assert.include(again.json.results[0].message, "cannot use the target alpha_search")
      assert.deepStrictEqual(again.json.results[1], first.json.results[1])
      const lines = yield* answerTo((api) =>
        api.send("POST", "/v1/bulk", {
          headers: {
            ...limited.auth,
            accept: "application/x-ndjson",
            "content-type": "application/json",
            "idempotency-key": "b"
          },
          body: JSON.stringify({ queries: ["css grid", onBeta] })
        })
      )
      assert.notInclude(lines.text, first.json.results[0].id)
      assert.include(lines.text, first.json.results[1].id)
      assert.strictEqual(yield* usedBy(caller), 3)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44, R50: a replay is not bound by the targets of the key that paid, and says which rows never ran", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const limited = yield* narrowed(caller, { targets: ["beta_search"] })
      const first = yield* answerTo(batch(limited, "b", "css grid", onBeta, ""))
      assert.include(first.json.results[0].message, "Allowed targets: beta_search")
      const again = yield* answerTo(batch(caller, "b", "css grid", onBeta, ""))
      assertReplay(first, again)
      assert.deepInclude(again.json.results[0], { status: "error", error: "unsupported_parameter" })
      assert.include(again.json.results[0].message, "with a new Idempotency-Key")
      assert.deepStrictEqual(again.json.results.slice(1), first.json.results.slice(1))
      assert.strictEqual(yield* usedBy(caller), 1)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44, R50: a key whose budget is spent still gets the replay of what another credential paid for", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const spent = yield* narrowed(caller, { budget: { credits: 1, period: "life" } })
      assert.strictEqual((yield* answerTo(search(spent, "own"))).status, 200)
      assert.strictEqual((yield* answerTo(search(spent, "other"))).status, 402)
      for (const send of [search, batch]) {
        const first = yield* answerTo(send(caller, "a", "css flex"))
        const again = yield* answerTo(send(spent, "a", "css flex"))
        assertReplay(first, again)
        assert.strictEqual(again.text, first.text)
      }
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R26, R44: keys of both modes and sessions of an account share its answers; other accounts do not", () =>
    Effect.gen(function* () {
      const caller = yield* growth
      const test = yield* aKeyOf(caller, "test")
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(caller.account))
      const session = { ...caller, auth: { cookie, "x-quarry-dashboard": "1" } }
      const first = yield* answerTo(search(caller, "a"))
      // The source of a search without one is the credential's, and no part of what makes two requests the same.
      for (const other of [test, session]) {
        const again = yield* answerTo(search(other, "a"))
        assertReplay(first, again)
        assert.strictEqual(again.text, first.text)
      }
      const stranger = yield* answerTo(search(yield* growth, "a"))
      assert.isNull(stranger.headers.get("idempotent-replayed"))
      assert.notStrictEqual(stranger.json.id, first.json.id)
    }).pipe(Effect.provide(services(providers)))
  )

  it.effect("R44: the demo ignores the header", () =>
    Effect.gen(function* () {
      const send: Send = (api) =>
        api.get("/v1/query?query=a", {
          "x-demo-origin": demoOrigin,
          origin: demoOrigin,
          "x-forwarded-for": "192.0.2.1",
          "idempotency-key": "not valid"
        })
      for (const answer of [yield* answerTo(send), yield* answerTo(send)]) {
        assert.strictEqual(answer.status, 200)
        assert.isNull(answer.headers.get("idempotent-replayed"))
      }
    }).pipe(Effect.provide(services(providers)))
  )
})
