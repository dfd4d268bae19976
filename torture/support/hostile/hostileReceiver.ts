import { createServer, type Socket } from "node:net"

/**
 * A hostile receiver of webhooks, run as its own process so that its CPU time is not the server's. The last part of a
 * request's path selects one of `behaviors`. Prints its port, then the path of each request, and "closed" with the path
 * when the request's connection closes.
 */

/** Writes a text repeatedly, as fast as the client reads it. */
const flood = (text: string) => (socket: Socket) => {
  const piece = text.repeat(Math.ceil(64_000 / text.length))
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on("drain", write)
  write()
}

/** Writes a text repeatedly, with pauses. */
const drip =
  (text: string, everyMs: number): ((socket: Socket) => void) =>
  (socket) => {
    const timer = setInterval(() => socket.write(text), everyMs)
    socket.on("close", () => clearInterval(timer))
  }

const after =
  (first: string, then: (socket: Socket) => void): ((socket: Socket) => void) =>
  (socket) => {
    socket.write(first)
    then(socket)
  }

const status = "HTTP/1.1 200 OK\r\n"

const behaviors: Readonly<Record<string, (socket: Socket) => void>> = {
  "interim-flood": flood("HTTP/1.1 102 Processing\r\n\r\n"),
  "continue-flood": flood("HTTP/1.1 100 Continue\r\n\r\n"),
  "hints-flood": flood(`HTTP/1.1 103 Early Hints\r\nLink: <${"a".repeat(1000)}>\r\n\r\n`),
  "interim-drip": drip("HTTP/1.1 102 Processing\r\n\r\n", 5),
  "header-flood": after(status, flood("a: b\r\n")),
  "long-header": after(`${status}a: `, flood("b")),
  "long-status": after("HTTP/1.1 200 ", flood("b")),
  "header-drip": after(status, drip("a: b\r\n", 5)),
  "body-flood": after(`${status}\r\n`, flood("b")),
  "chunk-flood": after(`${status}Transfer-Encoding: chunked\r\n\r\n`, flood("1\r\nb\r\n")),
  "extension-flood": after(`${status}Transfer-Encoding: chunked\r\n\r\n1;`, flood("b")),
  "trailer-flood": after(`${status}Transfer-Encoding: chunked\r\n\r\n0\r\n`, flood("a: b\r\n")),
  "garbage-flood": flood("\u0000\u0001 garbage"),
  silence: () => {}
}

export const behaviorNames = Object.keys(behaviors)

if (import.meta.main) {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy())
    socket.once("data", (bytes) => {
      const [, path = "", name = ""] = /(\/\S*?([a-z-]+)) HTTP/.exec(bytes.toString("latin1")) ?? []
      console.log(path)
      socket.once("close", () => console.log(`closed ${path}`))
      behaviors[name]?.(socket)
    })
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    console.log(typeof address === "object" ? address?.port : "")
  })
}
