import { execFile } from "node:child_process"
import { createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"

/** Servers that answer what no client expects: each call ends with one clear error, and leaves nothing behind. */

const response = (status: string, headers: ReadonlyArray<string>, body = ""): string =>
  [`HTTP/1.1 ${status}`, ...headers, "connection: close", "", body].join("\r\n")

const json = "content-type: application/json"

const html = "<!doctype html><h1>Bad gateway</h1>"

const sized = (status: string, body: string, ...headers: ReadonlyArray<string>): string =>
  response(status, [...headers, `content-length: ${Buffer.byteLength(body)}`], body)

const send = (text: string) => (socket: Socket) => socket.end(text)

const gigabyte = (socket: Socket) => {
  socket.write(response("200 OK", [json, `content-length: ${2 ** 30}`], '{"results":"'))
  const chunk = Buffer.alloc(2 ** 16, "a")
  const write = () => {
    while (!socket.destroyed && socket.write(chunk));
  }
  socket.on("drain", write)
  write()
}

const dribble = (socket: Socket) => {
  socket.write(response("200 OK", [json, "content-length: 5000"], "{"))
  const timer = setInterval(() => socket.write(" "), 50)
  socket.on("close", () => clearInterval(timer))
}

interface Expected {
  readonly code?: string
  readonly message: RegExp
}

const cases: Readonly<Record<string, readonly [answer: (socket: Socket) => void, expected: Expected]>> = {
  "closes at once": [(socket) => socket.destroy(), { message: /other side closed|socket hang up|ECONNRESET/ }],
  "cuts its headers": [send("HTTP/1.1 200 OK\r\ncontent-ty"), { message: /arrived from/ }],
  "cuts its body": [send(response("200 OK", [json, "content-length: 900"], '{"id":')), { message: /arrived from/ }],
  "cuts a chunk": [
    send(response("200 OK", [json, "transfer-encoding: chunked"], "ff\r\n{")),
    { message: /arrived from/ }
  ],
  "never answers": [() => {}, { code: "timeout", message: /700 ms/ }],
  "answers a byte at a time": [dribble, { code: "timeout", message: /700 ms/ }],
  "sends HTML with 200": [send(sized("200 OK", html, "content-type: text/html")), { message: /not valid JSON/ }],
  "sends HTML with 502": [send(sized("502 Bad Gateway", html, "content-type: text/html")), { message: /status 502/ }],
  "sends nothing with 200": [send(sized("200 OK", "", json)), { message: /JSON/ }],
  "sends a list": [send(sized("200 OK", "[]", json)), { message: /no field results/ }],
  "sends null": [send(sized("200 OK", "null", json)), { message: /no field results/ }],
  "sends another object": [send(sized("200 OK", '{"status":"up"}', json)), { message: /no field results/ }],
  "sends a gigabyte": [gigabyte, { message: /longer than 67108864 bytes|700 ms/ }],
  "redirects to https": [
    send(
      response("308 Permanent", ["location: https://user:secret@quarry.test/v1/query?query=a", "content-length: 0"])
    ),
    { message: /redirects to https:\/\/quarry\.test\/v1\/query, .*Set baseUrl/ }
  ],
  "redirects to itself": [send(response("302 Found", ["location: /", "content-length: 0"])), { message: /redirect/ }],
  "redirects to nowhere": [
    send(response("301 Moved", ["location: http://127.0.0.1:1/", "content-length: 0"])),
    { message: /redirects to http:\/\/127\.0\.0\.1:1\/,/ }
  ],
  "speaks another protocol": [send("SSH-2.0-OpenSSH_9.6\r\n"), { message: /arrived from/ }],
  "sends bytes that are not gzip": [
    send(sized("200 OK", "not gzip", json, "content-encoding: gzip")),
    { message: /arrived from/ }
  ],
  "sends an envelope of another form": [
    send(sized("401 Unauthorized", '{"error":5,"message":null}', json)),
    { message: /status 401/ }
  ],
  "asks to come back in a year": [
    send(sized("429 Too Many Requests", html, "retry-after: 31536000")),
    { message: /status 429/ }
  ],
  "has no content": [send(response("204 No Content", [])), { message: /status 204/ }],
  "sends a body of zeros": [send(sized("500 Error", "\0".repeat(1_000))), { message: /status 500/ }],
  "sends headers that are too long": [
    send(response("200 OK", [`x-long: ${"a".repeat(70_000)}`, "content-length: 0"])),
    { message: /arrived from/ }
  ],
  "streams a line that is cut/stream": [
    send(response("200 OK", ["content-type: application/x-ndjson"], '{"type":"batch","total":1}\n{"type":"r')),
    { code: "cut", message: /after 0 rows/ }
  ],
  "streams HTML/stream": [send(response("200 OK", [], `${html}\n`)), { code: "cut", message: /after 0 rows/ }]
}

const servers: Array<Server> = []
const sockets = new Set<Socket>()
let baseUrls: ReadonlyArray<string>

const listen = (answer: (socket: Socket) => void): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.once("data", () => answer(socket))
    })
    servers.push(server)
    server.listen(0, "127.0.0.1", () => resolve(Object(server.address()).port))
  })

beforeAll(async () => {
  baseUrls = await Promise.all(
    Object.entries(cases).map(
      async ([name, [answer]]) => `http://127.0.0.1:${await listen(answer)}${name.endsWith("/stream") ? "/stream" : ""}`
    )
  )
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

describe("@quarry/client against hostile servers", () => {
  it("ends each of 25 responses with one clear error, in bounded memory, and leaves no timer or socket", async () => {
    const program = join(import.meta.dirname, "hostileProgram.ts")
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...baseUrls])
    const { heapMb, left, outcomes } = JSON.parse(stdout)
    assert.lengthOf(outcomes, 25)
    Object.entries(cases).forEach(([name, [, { code = "network", message }]], index) => {
      const outcome = outcomes[index]
      if (name !== "sends a gigabyte") assert.strictEqual(outcome.code, code, `${name}: ${JSON.stringify(outcome)}`)
      assert.match(outcome.message, message, name)
      assert.strictEqual(outcome.attempts, 1, name)
      assert.isBelow(outcome.ms, 3_000, name)
      assert.notInclude(JSON.stringify(outcome), "sk_live_secret", name)
    })
    assert.deepStrictEqual(left, [])
    assert.isBelow(heapMb, 600)
  })
})
