import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/*
 * Stands in for an OpenTelemetry collector, as a process of its own: takes what it is sent and throws it away. Below
 * `/slow` it answers after five seconds, below `/hanging` never. Its first line of output is its port.
 */

const slowMs = 5_000

const server = createServer(async (request, response) => {
  request.resume()
  if (request.url?.startsWith("/hanging/")) return
  if (request.url?.startsWith("/slow/")) await sleep(slowMs)
  response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
