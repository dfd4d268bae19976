import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { CurrentIntake, Intake, intakeLimits } from "../../../src/http/requests/Intake.ts"
import { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import * as EventWork from "../../../src/services/webhooks/EventWork.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { Receivers } from "../../../src/testing/WebhookClientMemory.ts"
import { aCaller, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const everything = services(providing(() => Effect.succeed(found(1))))

/** An account whose person manages its webhooks. */
const aManager = Effect.fnUntraced(function* (api: TestApi.TestApi) {
  const { account } = yield* aCaller({ plan: "growth" })
  const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(account))
  const headers = { cookie, origin: "http://quarry.test", "content-type": "application/json" }
  const send = (method: string, path: string, body = "{}") => api.send(method, path, { headers, body })
  return {
    account,
    create: send("POST", "/v1/webhooks", '{"url":"https://hooks.test/quarry"}'),
    list: (path: string) => api.get(path, headers),
    send
  }
})

describe("connections to webhooks", () => {
  it.effect(
    "R53: a delivery says the same of a refused, an unreachable and a silent port, and the books say which",
    () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const { account, create, list, send } = yield* aManager(api)
        const { id } = (yield* create).json
        const receivers = yield* Receivers
        receivers.answer = () => undefined
        const reasons = ["ECONNREFUSED", "EHOSTUNREACH", "no response within 15 seconds", "HPE_INVALID_CONSTANT"]
        for (const reason of reasons) {
          receivers.reason = reason
          yield* send("POST", `/v1/webhooks/${id}/test`)
          yield* TestClock.adjust("1 second")
        }
        const { deliveries } = (yield* list(`/v1/webhooks/${id}/deliveries`)).json
        assert.deepStrictEqual(
          deliveries.map(({ error, http_status, status }: TestApi.Answer["json"]) => [status, http_status, error]),
          reasons.map(() => ["pending", null, "the endpoint could not be reached"])
        )
        const kept = yield* (yield* EventBooks).deliveries(account.id, id, { after: undefined, limit: 10 })
        assert.deepStrictEqual(
          kept.deliveries.map(({ error }) => error).toReversed(),
          reasons.map((reason) => `the endpoint could not be reached (${reason})`)
        )
      }).pipe(Effect.provide(EventWork.layer().pipe(Layer.provideMerge(everything))))
  )

  it.effect("R57: while the name servers of webhooks are slow, other requests have all places of the process", () =>
    Effect.gen(function* () {
      const answered = yield* Deferred.make<void>()
      const slow = Layer.effect(
        Webhooks,
        Effect.map(Webhooks, (webhooks) => ({
          ...webhooks,
          create: (...args: Parameters<typeof webhooks.create>) =>
            Effect.andThen(Deferred.await(answered), webhooks.create(...args))
        }))
      )
      const intake = new Intake({ ...intakeLimits, lookups: { maxLookups: 3, maxPerAccount: 2 } })
      const test = Effect.gen(function* () {
        const api = yield* TestApi.make
        const first = yield* aManager(api)
        const second = yield* aManager(api)
        const start = Effect.fnUntraced(function* (create: typeof first.create) {
          // As the listener does with each request.
          intake.inFlight++
          const fiber = yield* Effect.forkChild(create, { startImmediately: true })
          yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          return fiber
        })
        const waiting = [yield* start(first.create), yield* start(first.create)]
        assert.strictEqual(intake.inFlight, 0)
        const refused = yield* Fiber.join(yield* start(first.create))
        assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "1"])
        assert.strictEqual(refused.json.error, "rate_limited")
        waiting.push(yield* start(second.create))
        assert.strictEqual((yield* Fiber.join(yield* start(second.create))).status, 429)
        yield* Deferred.succeed(answered, undefined)
        for (const fiber of waiting) assert.strictEqual((yield* Fiber.join(fiber)).status, 201)
        // Those that were refused included.
        assert.strictEqual(intake.inFlight, 5)
        assert.strictEqual((yield* first.create).status, 201)
      })
      yield* test.pipe(
        Effect.provideService(CurrentIntake, intake),
        Effect.provide(slow.pipe(Layer.provideMerge(everything)))
      )
    })
  )
})
