import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope } from "effect"
import { HttpEffect, HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { trustedHosts } from "../../../src/http/admin/hosts.ts"

const lines: Array<string> = []

const get = Effect.gen(function* () {
  lines.length = 0
  const routes = Layer.mergeAll(
    HttpRouter.add("GET", "/metrics", HttpServerResponse.text("up 1")),
    trustedHosts(["10.0.0.7", "Metrics.example.com"])
  )
  const app = yield* HttpRouter.toHttpEffect(routes)
  const handler = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(
    yield* Effect.context<never>()
  )(app)
  return (host: string) =>
    Effect.promise(async () => {
      const response = await handler(new Request("http://localhost/metrics", { headers: { host } }))
      return { status: response.status, text: await response.text() }
    })
})

const logged = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])

describe("R72: the private listener's hosts", () => {
  it.effect("it answers to addresses, names without a dot and listed names, and refuses others without a figure", () =>
    Effect.gen(function* () {
      const ask = yield* get
      for (const host of ["127.0.0.1:9464", "[::1]:9464", "localhost", "quarry-1:9464", "metrics.example.com:9464"]) {
        assert.deepStrictEqual(yield* ask(host), { status: 200, text: "up 1" }, host)
      }
      for (const host of ["evil.example", "metrics.example.com.evil.example:9464", "localhost.evil.example", ""]) {
        const { status, text } = yield* ask(host)
        assert.strictEqual(status, 403, host)
        assert.strictEqual(JSON.parse(text).error, "forbidden_host")
      }
    }).pipe(Effect.provide(logged))
  )

  it.effect("refusals write one line a minute, which counts the others and cuts a long host", () =>
    Effect.gen(function* () {
      const ask = yield* get
      for (let n = 0; n < 50; n++) yield* ask(`a${n}.evil.example`)
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], '"a0.evil.example". If')
      yield* TestClock.adjust("59 seconds")
      yield* ask("evil.example")
      assert.strictEqual(lines.length, 1)
      yield* TestClock.adjust("1 second")
      yield* ask(`${"a".repeat(2000)}.example`)
      assert.strictEqual(lines.length, 2)
      assert.include(lines[1], "and 50 others")
      assert.isBelow(lines[1]?.length ?? 0, 600)
    }).pipe(Effect.provide(logged))
  )
})
