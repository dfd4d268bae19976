import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import * as Listener from "../support/api/Listener.ts"
import { toolCall } from "../support/api/Mcp.ts"
import { secret } from "../support/api/StubServices.ts"
import { connect } from "../support/api/Wire.ts"

const call = (accept: string): string => {
  const body = toolCall("web_search", { query: "css grid" })
  return [
    "POST /mcp HTTP/1.1",
    "Host: quarry.test",
    `Authorization: Bearer ${secret}`,
    "Content-Type: application/json",
    `Accept: ${accept}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "",
    body
  ].join("\r\n")
}

/** A search that waits for the gate, and signals when it starts and when it is interrupted. */
const gated = Effect.gen(function* () {
  const [gate, begun, cutOff] = [
    yield* Deferred.make<void>(),
    yield* Deferred.make<void>(),
    yield* Deferred.make<void>()
  ]
  const during = () =>
    Deferred.succeed(begun, undefined).pipe(
      Effect.andThen(Deferred.await(gate)),
      Effect.onInterrupt(() => Deferred.succeed(cutOff, undefined))
    )
  return { gate, begun, cutOff, during }
})

describe("tool calls over a socket", () => {
  for (const accept of ["application/json, text/event-stream", "text/event-stream"]) {
    it.live(`a call ends when its client disconnects (Accept: ${accept})`, () =>
      Effect.gen(function* () {
        const { begun, cutOff, during } = yield* gated
        const { port } = yield* Listener.start({ during })
        const connection = yield* connect(port)
        yield* connection.send(call(accept))
        yield* Deferred.await(begun)
        yield* connection.abort
        yield* Deferred.await(cutOff).pipe(Effect.timeout("5 seconds"))
      })
    )

    it.live(`a draining listener answers an accepted request (Accept: ${accept})`, () =>
      Effect.gen(function* () {
        const { begun, during, gate } = yield* gated
        const { port, stop } = yield* Listener.start({ during })
        const connection = yield* connect(port)
        yield* connection.send(call(accept))
        yield* Deferred.await(begun)
        const stopping = yield* Effect.forkChild(stop)
        yield* Effect.sleep(50)
        yield* Deferred.succeed(gate, undefined)
        yield* connection.closed
        yield* Fiber.join(stopping)
        assert.include(connection.raw(), "HTTP/1.1 200 OK")
        assert.include(connection.raw(), '"structuredContent"')
      })
    )
  }
})
