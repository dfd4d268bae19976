import { createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as EmailsLog from "../../../src/layers/auth/EmailsLog.ts"
import * as EmailsSmtp from "../../../src/layers/auth/EmailsSmtp.ts"
import { Emails } from "../../../src/services/Emails.ts"

const email = {
  to: "a@example.com",
  subject: "Confirm your address",
  text: "Open http://quarry.test/link?token=secret"
}

/** A mail server that takes one message at a time and keeps what it was told; or refuses to greet. */
const mailServer = (greeting: string) =>
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

const captured = (lines: Array<string>) =>
  Logger.layer([Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))])

const smtp = (port: number) =>
  EmailsSmtp.layer({ url: Redacted.make(`smtp://127.0.0.1:${port}`), from: "Quarry <quarry@example.com>" })

describe("Emails", () => {
  it.live("go out over SMTP", () =>
    Effect.gen(function* () {
      const { port, said } = yield* mailServer("220 test ESMTP")
      const lines: Array<string> = []
      yield* Effect.flatMap(Emails, (emails) => emails.send(email)).pipe(
        Effect.provide(Layer.merge(smtp(port), captured(lines)))
      )
      const conversation = said.join("\n")
      assert.include(conversation, "MAIL FROM:<quarry@example.com>")
      assert.include(conversation, "RCPT TO:<a@example.com>")
      assert.include(conversation, "Subject: Confirm your address")
      assert.include(conversation, "token=")
      assert.notInclude(lines.join("\n"), "secret")
    })
  )

  it.live("one that a server refuses is logged without its text", () =>
    Effect.gen(function* () {
      const { port } = yield* mailServer("554 not today")
      const lines: Array<string> = []
      yield* Effect.flatMap(Emails, (emails) => emails.send(email)).pipe(
        Effect.provide(Layer.merge(smtp(port), captured(lines)))
      )
      assert.match(lines.join("\n"), /Confirm your address/)
      assert.notInclude(lines.join("\n"), "secret")
    })
  )

  it.effect("without a mail server are in the log, which says so", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.flatMap(Emails, (emails) => emails.send(email)).pipe(
        Effect.provide(Layer.merge(EmailsLog.layer, captured(lines)))
      )
      assert.lengthOf(lines, 1)
      assert.include(lines[0], "SMTP is not configured")
      assert.include(lines[0], "http://quarry.test/link?token=secret")
      assert.include(lines[0], `"level":"INFO"`)
    })
  )
})
