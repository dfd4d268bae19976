import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { deliveriesPerMinute } from "../../../src/http/middleware/deliveryLimit.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

/** A signed-in person with two webhooks. */
const aPerson = Effect.fnUntraced(function* (api: TestApi.TestApi) {
  const caller = yield* aCaller({ plan: "growth" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(caller.account))
  const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
  const send = (method: string, path: string, body?: object) =>
    api.send(method, path, { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const add = Effect.map(send("POST", "/v1/webhooks", { url: "https://hooks.test/" }), ({ json }): string => json.id)
  return { send, hooks: [yield* add, yield* add] }
})

const test = (id: string | undefined) => `/v1/webhooks/${id}/test`

describe("the webhook routes", () => {
  it.effect("R53: an account asks for 12 tests and redeliveries in any minute, over all of its webhooks", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { hooks, send } = yield* aPerson(api)
      const other = yield* aPerson(api)
      const first = yield* send("POST", test(hooks[0]))
      assert.strictEqual(first.status, 201)
      const redeliver = `/v1/webhooks/${hooks[0]}/deliveries/${first.json.id}/redeliver`
      yield* TestClock.adjust("20 seconds")
      for (let n = 2; n < deliveriesPerMinute; n++) yield* send("POST", test(hooks[n % 2]))
      assert.strictEqual((yield* send("POST", redeliver)).status, 201)
      for (const path of [test(hooks[0]), test(hooks[1]), redeliver]) {
        const { headers, json, status } = yield* send("POST", path)
        assert.deepStrictEqual([status, json.error], [429, "rate_limited"])
        assert.deepStrictEqual(
          ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining"].map((name) => headers.get(name)),
          ["40", "12", "0"]
        )
      }
      assert.strictEqual((yield* other.send("POST", test(other.hooks[0]))).status, 201)
      assert.strictEqual((yield* send("GET", "/v1/webhooks")).status, 200)
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual((yield* send("POST", test(hooks[0]))).status, 201)
      assert.strictEqual((yield* send("POST", test(hooks[0]))).status, 429)
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )

  it.effect("R53: an event from before a change of address cannot be sent to the new one", () =>
    Effect.gen(function* () {
      const { hooks, send } = yield* aPerson(yield* TestApi.make)
      const made = yield* send("POST", test(hooks[0]))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(
        (yield* send("PATCH", `/v1/webhooks/${hooks[0]}`, { url: "https://victim.test/" })).status,
        200
      )
      const listed = yield* send("GET", `/v1/webhooks/${hooks[0]}/deliveries`)
      assert.deepInclude(listed.json.deliveries[0], {
        status: "failed",
        error: "the webhook's address was changed",
        next_attempt_at: null
      })
      const refused = yield* send("POST", `/v1/webhooks/${hooks[0]}/deliveries/${made.json.id}/redeliver`)
      assert.deepStrictEqual([refused.status, refused.json.error], [400, "invalid_request"])
    }).pipe(Effect.provide(services(providing(() => Effect.succeed(found(1))))))
  )
})
