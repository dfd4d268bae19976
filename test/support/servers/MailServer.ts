import { createServer, type Socket } from "node:net"
import { Effect } from "effect"

/** A mail server that accepts one message at a time and records everything, or rejects with its greeting. */
export const mailServer = (greeting: string) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ port: number; said: Array<string>; close: () => void }>((resolve) => {
          const said: Array<string> = []
          const server = createServer((socket) => converse(socket, greeting, said)).listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            resolve({ port, said, close: () => server.close() })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  )

const converse = (socket: Socket, greeting: string, said: Array<string>): void => {
  let inData = false
  socket.setEncoding("utf8").on("error", () => {})
  socket.write(`${greeting}\r\n`)
  socket.on("data", (chunk) => {
    for (const line of String(chunk)
      .split("\r\n")
      .filter((text) => text !== "")) {
      said.push(line)
      if (inData && line !== ".") continue
      if (line === ".") inData = false
      if (line === "DATA") inData = true
      socket.write(line === "DATA" ? "354 go on\r\n" : line === "QUIT" ? "221 bye\r\n" : "250 ok\r\n")
    }
  })
}

/** The last sign-in link that a mail server received. Emails about events contain links too. */
const lastLink = (said: ReadonlyArray<string>): string | undefined =>
  said
    .join("\n")
    // Decodes quoted-printable.
    .replaceAll("=\n", "")
    .replaceAll("=3D", "=")
    .match(/http\S+/g)
    ?.findLast((link) => link.includes("/oauth/confirm"))

/** Waits for the sign-in link of the next email, and forgets what was received before. */
export const nextLink = async (said: Array<string>): Promise<string> => {
  for (;;) {
    const link = said.at(-1) === "." ? lastLink(said) : undefined
    if (link !== undefined) {
      said.length = 0
      return link
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
