import type { RequestListener } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result } from "effect"
import * as ClientDocumentsNode from "../../../src/layers/auth/oauth/ClientDocumentsNode.ts"
import { ClientDocuments } from "../../../src/services/accounts/ClientDocuments.ts"
import * as Certificates from "../../support/servers/Certificates.ts"

const host = "app.test"

/** A site over TLS that this process takes for `app.test`, and the requests that it got. */
const site = Effect.fnUntraced(function* (answer: RequestListener) {
  const { cert, key } = yield* Certificates.trusted(`DNS:${host},DNS:*.${host}`)
  const seen: Array<string> = []
  const server = createServer({ cert, key }, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.accept} ${request.headers["user-agent"]}`)
    answer(request, response)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", () => done()))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const { port } = server.address() as AddressInfo
  return { seen, address: `https://${host}:${port}/client.json`, port: String(port) }
})

const documentsOn = (port: string, isPublic: () => boolean = () => true) =>
  ClientDocumentsNode.layer({
    userAgent: "Quarry/test",
    allowsPrivate: false,
    ports: new Set([port]),
    resolve: async () => ["127.0.0.1"],
    isPublic
  })

const fetchFrom = (address: string, port: string, isPublic?: () => boolean) =>
  Effect.flatMap(ClientDocuments, (documents) => Effect.result(documents.fetch(address))).pipe(
    Effect.provide(documentsOn(port, isPublic))
  )

const reasonOf = (result: Result.Result<unknown, { readonly reason: string }>) =>
  Result.isFailure(result) ? result.failure.reason : undefined

const json =
  (headers: Record<string, string> = {}, changes: object = {}): RequestListener =>
  (request, response) => {
    const client_id = `https://${request.headers.host}${request.url}`
    const body = { client_id, client_name: "An App", redirect_uris: ["https://app.test/callback"], ...changes }
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
  }

describe("fetching an app's metadata document", () => {
  it.live("reads it once over TLS, and says how long it is fresh within our limits", () =>
    Effect.gen(function* () {
      for (const [cacheControl, expected] of [
        ["", Duration.minutes(5)],
        ["no-store", Duration.minutes(5)],
        ["public, max-age=1800", Duration.minutes(30)],
        ["max-age=999999999", Duration.hours(1)]
      ] as const) {
        const { address, port, seen } = yield* site(json({ "cache-control": cacheControl }))
        const fetched = Result.getOrThrow(yield* fetchFrom(address, port))
        assert.strictEqual(fetched.name, "An App")
        assert.deepStrictEqual(fetched.redirectUris, ["https://app.test/callback"])
        assert.strictEqual(Duration.toMillis(fetched.freshFor), Duration.toMillis(expected), cacheControl)
        assert.deepStrictEqual(seen, ["GET /client.json application/json Quarry/test"])
      }
    })
  )

  it.live("connects to no address that is not public, and to no unusual port", () =>
    Effect.gen(function* () {
      const { address, port, seen } = yield* site(json())
      assert.strictEqual(reasonOf(yield* fetchFrom(address, port, () => false)), "address_not_allowed")
      assert.strictEqual(reasonOf(yield* fetchFrom(address, "1")), "address_not_allowed")
      assert.deepStrictEqual(seen, [])
    })
  )

  it.live("follows no redirect, and takes only a JSON document of limited size that names itself", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<readonly [string, RequestListener]> = [
        ["status 302", (_, response) => response.writeHead(302, { location: "/other.json" }).end()],
        ["status 404", (_, response) => response.writeHead(404, { "content-type": "application/json" }).end("{}")],
        ["it is not JSON", (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("{}")],
        ["client_id must be the address of the document", json({}, { client_id: "https://other.test/client.json" })],
        ["too_large", json({}, { padding: "x".repeat(20_000) })],
        ["unreachable", (request) => request.socket.destroy()]
      ]
      for (const [expected, answer] of answers) {
        const { address, port, seen } = yield* site(answer)
        assert.strictEqual(reasonOf(yield* fetchFrom(address, port)), expected)
        assert.lengthOf(seen, 1)
      }
    })
  )

  it.live("R83: one client fetches four documents at once, and another client's is fetched meanwhile", () =>
    Effect.gen(function* () {
      const answer: RequestListener = (request, response) => {
        if (request.url === "/theirs.json") json()(request, response)
      }
      const { port, seen } = yield* site(answer)
      yield* Effect.gen(function* () {
        const { fetch } = yield* ClientDocuments
        const silent = Array.from({ length: 8 }, (_, n) => `https://app${n}.${host}:${port}/silent.json`)
        const waiting = yield* Effect.forkChild(
          Effect.forEach(silent, (address) => Effect.result(fetch(address, "203.0.113.7")), {
            concurrency: "unbounded"
          })
        )
        while (seen.length < 4) yield* Effect.sleep(5)
        yield* fetch(`https://other.${host}:${port}/theirs.json`, "203.0.113.8")
        assert.lengthOf(seen, 5)
        yield* Fiber.interrupt(waiting)
      }).pipe(Effect.provide(documentsOn(port)))
    })
  )

  it.live("gives a silent site five seconds", () =>
    Effect.gen(function* () {
      const { address, port } = yield* site(() => undefined)
      const [took, result] = yield* Effect.timed(fetchFrom(address, port))
      assert.strictEqual(reasonOf(result), "timed_out")
      assert.isBelow(Duration.toMillis(took), 9_000)
    })
  )
})
