import { createServer } from "node:net"

/**
 * Receives webhooks on every loopback address, in a separate process. Its first line of output is its port. Each
 * further line is the body of a received event. Its argument selects how it responds:
 * - `prompt`: 204.
 * - `busy`: 204, while keeping a processor as busy as `interim` does.
 * - `interim`: endless interim responses.
 * - `silent`: never.
 */
export type Manner = "prompt" | "busy" | "interim" | "silent"

const manner = process.argv[2] as Manner // Who starts it gives one of them.

const interim = Buffer.from("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(2048))
/** Maximum bytes of interim responses per connection. */
const maxInterimBytes = 256 * 1024 ** 2

const server = createServer((socket) => {
  socket.on("error", () => undefined)
  socket.once("data", (chunk) => {
    console.log(chunk.toString().replace(/^.*\r\n/s, ""))
    if (manner === "prompt" || manner === "busy") socket.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
    if (manner !== "interim") return
    const write = (): void => {
      while (socket.bytesWritten < maxInterimBytes && socket.write(interim));
    }
    socket.on("drain", write)
    write()
  })
})

/** Works for 9 out of 10 milliseconds. */
const burn = (): void => {
  const until = performance.now() + 9
  while (performance.now() < until);
  setTimeout(burn, 1)
}
if (manner === "busy") burn()

server.listen(0, "0.0.0.0", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : "")
})
