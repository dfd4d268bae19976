import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

/*
 * A fake OpenTelemetry collector in its own process, which discards everything. Responds after five seconds below
 * `/slow`, and never below `/hanging`. The first line of output is the port.
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
