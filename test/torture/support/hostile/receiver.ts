import { createServer } from "node:net"

/**
 * Receives webhooks on every loopback address, as a process of its own. Its first line of output is its port; each line
 * after that is the body of an event that arrived. Its argument says how it answers:
 * - `prompt`: 204.
 * - `busy`: 204, and it keeps a processor busy all the time, as `interim` does.
 * - `interim`: interim responses without end.
 * - `silent`: never.
 */
export type Manner = "prompt" | "busy" | "interim" | "silent"

const manner = process.argv[2] as Manner // Who starts it gives one of them.

const interim = Buffer.from("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(2048))
/** Bytes of interim responses on one connection. */
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

/** Works for 9 of 10 milliseconds. */
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
