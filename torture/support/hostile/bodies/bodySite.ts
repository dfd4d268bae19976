import { readFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { createServer as createTlsServer } from "node:tls"
import { type BodyName, bodies, makeBombs, type Place } from "./hostileBodies.ts"

/**
 * A hostile site on every loopback address, in a separate process. Its arguments are the files of a key and a
 * certificate for its second port, which speaks TLS. Its first line of output is its two ports. A request for
 * `/control/PLACE/BODY` selects the body that it sends in the place; without BODY, it behaves well. Each further line of
 * output is the path of a request that was answered with that body.
 */
const [keyFile = "", certFile = ""] = process.argv.slice(2)

let place: Place = "page"
let body: BodyName | undefined

const isFor = (path: string): boolean => {
  if (place === "robots") return path === "/robots.txt"
  if (place === "sitemap") return path === "/sitemap.xml"
  return path !== "/robots.txt" && path !== "/sitemap.xml"
}

const answer = (socket: Socket, status: string, type: string, text: string): void => {
  const length = Buffer.byteLength(text)
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n${text}`
  )
}

const article = `<title>A page</title><main>${"<p>A sentence of an ordinary article.</p>".repeat(50)}</main>`

const serve = (socket: Socket, path: string): void => {
  const [, isControl, toPlace, toBody] = /^\/(control)\/(\w+)(?:\/(.+))?$/.exec(decodeURIComponent(path)) ?? []
  if (isControl !== undefined) {
    place = toPlace as Place // The scenario sends only names of the tables.
    body = toBody as BodyName | undefined
    answer(socket, "204 No Content", "text/plain", "")
  } else if (place === "reader" && path.startsWith("/page")) {
    // Makes Quarry ask the reader.
    answer(socket, "403 Forbidden", "text/plain", "")
  } else if (path === "/robots.txt" && place !== "robots") {
    answer(socket, "404 Not Found", "text/plain", "")
  } else if (body === undefined || !isFor(path)) {
    answer(socket, "200 OK", "text/html", article)
  } else {
    console.log(path)
    bodies[body](socket, place)
  }
}

const onSocket = (socket: Socket): void => {
  socket.on("error", () => socket.destroy())
  socket.once("data", (bytes) => serve(socket, / (\/\S*)/.exec(bytes.toString("latin1"))?.[1] ?? "/"))
}

makeBombs()
const server = createServer(onSocket)
const secure = createTlsServer({ key: readFileSync(keyFile), cert: readFileSync(certFile) }, onSocket)
secure.on("tlsClientError", () => undefined)

const portOf = (it: typeof server): number => {
  const address = it.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

server.listen(0, "0.0.0.0", () => secure.listen(0, "0.0.0.0", () => console.log(portOf(server), portOf(secure))))
