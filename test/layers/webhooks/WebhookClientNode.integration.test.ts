import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { secretPrefix } from "../../../src/domain/webhooks/Event.ts"
import * as WebhookClientNode from "../../../src/layers/webhooks/WebhookClientNode.ts"
import { hostClosed, WebhookClient } from "../../../src/services/webhooks/WebhookClient.ts"
import { type Certificate, trusted } from "../../support/servers/Certificates.ts"

const secretOf = (byte: number) => `${secretPrefix}${Buffer.alloc(32, byte).toString("base64")}`

const body = JSON.stringify({ type: "webhook.test", timestamp: "2026-03-14T09:26:53.589Z", data: { a: "ä" } })

interface Received {
  readonly request: IncomingMessage
  readonly text: string
}

/** A receiver on a socket of its own, with what it got. */
const receiver = (answer: RequestListener, certificate?: Certificate) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly server: Server; readonly port: number; readonly got: Array<Received> }>((resolve) => {
          const got: Array<Received> = []
          const listener: RequestListener = (request, response) => {
            let text = ""
            request.setEncoding("utf8")
            request.on("data", (chunk) => {
              text += chunk
            })
            request.on("end", () => {
              got.push({ request, text })
              answer(request, response)
            })
          }
          const server = certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener)
          server.listen(0, "127.0.0.1", () => {
            // It listens on a port, so its address is an object.
            resolve({ server, port: (server.address() as AddressInfo).port, got })
          })
        })
    ),
    ({ server }) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )

const post = (url: string, options: Partial<WebhookClientNode.WebhookClientOptions> = {}, secrets = [secretOf(1)]) =>
  Effect.gen(function* () {
    const client = yield* WebhookClient
    const timestamp = Math.floor(Date.now() / 1000)
    return yield* client.post({ url, id: "evt_1", timestamp, body, secrets: secrets.map((it) => Redacted.make(it)) })
  }).pipe(Effect.provide(WebhookClientNode.layer({ allowsPrivate: true, ...options })))

const localhost = (port: number) => `http://127.0.0.1:${port}/hook?a=1`

describe("WebhookClientNode", () => {
  it.live("R53: what is sent is verified by the library of Standard Webhooks, with each of two secrets", () =>
    Effect.gen(function* () {
      const { got, port } = yield* receiver((_, response) => response.writeHead(204).end())
      const answer = yield* post(localhost(port), {}, [secretOf(1), secretOf(2)])
      assert.deepStrictEqual(answer, { status: 204, retryAfterMs: 0 })
      const [received] = got
      if (received === undefined) return assert.fail("nothing came")
      const headers = received.request.headers as Record<string, string> // None of these comes twice.
      for (const secret of [secretOf(1), secretOf(2)]) {
        assert.deepStrictEqual(new Webhook(secret).verify(received.text, headers), JSON.parse(body))
      }
      assert.throws(() => new Webhook(secretOf(3)).verify(received.text, headers))
      assert.throws(() => new Webhook(secretOf(1)).verify(`${received.text} `, headers))
      assert.deepInclude(headers, { "webhook-id": "evt_1", "content-type": "application/json" })
      assert.strictEqual(received.request.url, "/hook?a=1")
    })
  )

  it.live("R53: an answer is its status: a redirect is not followed, and 10 MB are not read", () =>
    Effect.gen(function* () {
      let sent = 0
      const elsewhere = yield* receiver((_, response) => response.end())
      const { port } = yield* receiver((request, response) => {
        if (request.url?.startsWith("/away")) {
          response.writeHead(307, { location: localhost(elsewhere.port) }).end()
          return
        }
        response.writeHead(200)
        const chunk = Buffer.alloc(64 * 1024)
        const write = () => {
          while (sent < 10_000_000 && !response.destroyed) {
            sent += chunk.length
            if (!response.write(chunk)) {
              response.once("drain", write)
              return
            }
          }
          response.end()
        }
        write()
      })
      assert.strictEqual((yield* post(`http://127.0.0.1:${port}/away`)).status, 307)
      assert.deepStrictEqual(elsewhere.got, [])
      assert.strictEqual((yield* post(localhost(port))).status, 200)
      assert.isBelow(sent, 10_000_000)
    })
  )

  it.live("R53: a receiver that hangs ends at the time limit, and Retry-After is read", () =>
    Effect.gen(function* () {
      const { port } = yield* receiver((request, response) => {
        if (request.url === "/busy") response.writeHead(503, { "retry-after": "120" }).end()
      })
      const hung = yield* Effect.flip(post(localhost(port), { timeout: Duration.millis(200) }))
      assert.deepStrictEqual([hung._tag, hung.reason], ["WebhookUnreachable", "no response within 0.2 seconds"])
      const busy = yield* post(`http://127.0.0.1:${port}/busy`)
      assert.deepStrictEqual(busy, { status: 503, retryAfterMs: 120_000 })
    })
  )

  it.live("R53: nothing is sent to addresses that are not public, in any spelling", () =>
    Effect.gen(function* () {
      const { got, port } = yield* receiver((_, response) => response.end())
      const urls = [
        `https://127.0.0.1:${port}/`,
        `https://127.1:${port}/`,
        `https://0x7f000001:${port}/`,
        `https://2130706433:${port}/`,
        `https://0:${port}/`,
        `https://[::1]:${port}/`,
        `https://[::ffff:127.0.0.1]:${port}/`,
        `https://[::ffff:7f00:1]:${port}/`,
        `https://[64:ff9b::7f00:1]:${port}/`,
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://100.64.0.1/",
        "https://[fd00::1]/",
        "https://[fe80::1]/",
        `http://127.0.0.1:${port}/`,
        `http://example.com:${port}/`,
        `https://user:password@example.com:${port}/`
      ]
      for (const url of urls) {
        const failure = yield* Effect.flip(post(url, { allowsPrivate: false }))
        assert.strictEqual(failure._tag, "AddressClosed", url)
      }
      assert.deepStrictEqual(got, [])
    })
  )

  it.live("R53: a name is resolved once for a delivery, so a changed address leads nowhere else", () =>
    Effect.gen(function* () {
      const { got, port } = yield* receiver((_, response) => response.end())
      const answers = [["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]]
      let asked = 0
      const resolve = () => Promise.resolve(answers[asked++] ?? [])
      const url = `https://rebind.test:${port}/`
      const options = { allowsPrivate: false, resolve, timeout: Duration.millis(300) }
      const first = yield* Effect.flip(post(url, options))
      assert.strictEqual(asked, 1)
      assert.strictEqual(first._tag, "WebhookUnreachable")
      assert.strictEqual((yield* Effect.flip(post(url, options)))._tag, "AddressClosed")
      const mixed = { ...options, resolve: () => Promise.resolve(["93.184.216.34", "127.0.0.1"]) }
      assert.strictEqual((yield* Effect.flip(post(url, mixed)))._tag, "AddressClosed")
      assert.deepStrictEqual(got, [])
    })
  )

  it.live("R53: a name leads to the address that was judged, with its own name in Host", () =>
    Effect.gen(function* () {
      const { got, port } = yield* receiver((_, response) => response.end())
      const options = { resolve: () => Promise.resolve(["127.0.0.1"]) }
      assert.strictEqual((yield* post(`http://hooks.test:${port}/`, options)).status, 200)
      assert.strictEqual(got[0]?.request.headers.host, `hooks.test:${port}`)
    })
  )

  it.live("R53: over https the certificate is checked for the name, and the connection goes to the address", () =>
    Effect.gen(function* () {
      const certificate = yield* trusted("DNS:hooks.test")
      const { got, port } = yield* receiver((_, response) => response.writeHead(204).end(), certificate)
      const options = { resolve: () => Promise.resolve(["127.0.0.1"]) }
      assert.strictEqual((yield* post(`https://hooks.test:${port}/`, options)).status, 204)
      assert.strictEqual(got[0]?.request.headers.host, `hooks.test:${port}`)
      const other = yield* Effect.flip(post(`https://other.test:${port}/`, options))
      assert.deepStrictEqual([other._tag, other.reason], ["WebhookUnreachable", "ERR_TLS_CERT_ALTNAME_INVALID"])
      assert.lengthOf(got, 1)
    })
  )

  it.effect(
    "R53: the message for a host that a webhook cannot have does not say why, and the operator's reason does",
    () =>
      Effect.gen(function* () {
        const check = Effect.fnUntraced(function* (
          url: string,
          resolve: WebhookClientNode.WebhookClientOptions["resolve"]
        ) {
          const checked = Effect.flatMap(WebhookClient, (client) => Effect.flip(client.check(url)))
          const layer = WebhookClientNode.layer({ allowsPrivate: false, resolve })
          const fiber = yield* Effect.forkChild(Effect.provide(checked, layer), { startImmediately: true })
          yield* TestClock.adjust("5 seconds")
          return yield* Fiber.join(fiber)
        })
        const failures = [
          yield* check("https://hooks.test/", () => Promise.resolve(["10.0.0.1"])),
          yield* check("https://hooks.test/", () => Promise.resolve([])),
          yield* check("https://hooks.test/", () => Promise.reject(new Error("ENOTFOUND"))),
          yield* check("https://hooks.test/", () => new Promise(() => undefined)),
          yield* check("https://127.0.0.1/", undefined)
        ]
        assert.deepStrictEqual(new Set(failures.map(({ shown }) => shown)), new Set([hostClosed]))
        assert.deepStrictEqual(
          failures.map(({ reason }) => reason),
          [
            "not all of its addresses are on the public internet",
            "its name has no address",
            "its name has no address",
            "its name servers did not respond within 5s",
            "not all of its addresses are on the public internet"
          ]
        )
      })
  )

  it.live("R53: the search for a name's addresses ends with the check that asked for them", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const resolve = (_: string, signal: AbortSignal) =>
        new Promise<ReadonlyArray<string>>(() => {
          signal.addEventListener("abort", () => Deferred.doneUnsafe(ended, Effect.void))
        })
      const failure = yield* Effect.flip(post("https://hooks.test/", { resolve, timeout: Duration.millis(50) }))
      assert.strictEqual(failure._tag, "WebhookUnreachable")
      yield* Deferred.await(ended)
    })
  )
})
