import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { repliesIn } from "../hostile/RawExchange.ts"
import { allowedBytes, allowedMs, growsTooFast } from "./Costs.ts"
import * as CpuMeter from "./CpuMeter.ts"

const burnMs = 60

describe.skipIf(process.platform !== "linux")("the CPU meter", () => {
  it.live("measures a process with an error far below the budget of a request", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const cpuMs = yield* CpuMeter.make(process.pid)
        const [before, usageBefore] = [cpuMs(), process.cpuUsage()]
        while (process.cpuUsage(usageBefore).user < burnMs * 1000);
        const { system, user } = process.cpuUsage(usageBefore)
        assert.closeTo(cpuMs() - before, (user + system) / 1000, 10)
      })
    )
  )
})

describe("the budget of a request", () => {
  it("is 50 ms and 1 MB for each request of up to 16 KiB", () => {
    assert.strictEqual(allowedMs({ bytes: 100, requests: 1 }, 0), 50)
    assert.strictEqual(allowedMs({ bytes: 16_384, requests: 1 }, 0), 50)
    assert.strictEqual(allowedMs({ bytes: 16_384, requests: 3 }, 0), 150)
    assert.strictEqual(allowedBytes({ bytes: 16_384, requests: 1 }), 1_000_000)
  })

  it("grows with longer input and with searches", () => {
    assert.strictEqual(allowedMs({ bytes: 2 * 16_384, requests: 1 }, 0), 55)
    assert.strictEqual(allowedMs({ bytes: 100, requests: 1 }, 50), 550)
    assert.strictEqual(allowedBytes({ bytes: 1_048_576, requests: 1 }), 2_032_192)
  })

  it("allows linear growth and rejects quadratic growth", () => {
    assert.isFalse(growsTooFast(1, 4))
    assert.isFalse(growsTooFast(10, 40))
    assert.isTrue(growsTooFast(10, 160))
    assert.isTrue(growsTooFast(0, 40))
  })
})

describe("the responses on a connection", () => {
  const parsed = (text: string) => repliesIn(Buffer.from(text)).map(({ status, text }) => `${status} ${text}`)

  it("are split by their lengths and chunks, without interim responses", () => {
    assert.deepStrictEqual(
      parsed(
        "HTTP/1.1 102 Processing\r\n\r\n" +
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab" +
          "HTTP/1.1 204 No Content\r\n\r\n" +
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" +
          "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
      ),
      ["200 ab", "204 ", "200 2\r\nab\r\n0\r\n\r\n", "400 "]
    )
  })

  it("are none in bytes that are not HTTP", () => {
    assert.deepStrictEqual(parsed(""), [])
    assert.deepStrictEqual(parsed("HTTP/1.1 200 OK\r\n"), [])
  })
})
