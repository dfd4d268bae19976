import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import * as EmailsLog from "../../../src/layers/auth/emails/EmailsLog.ts"
import * as EmailsSmtp from "../../../src/layers/auth/emails/EmailsSmtp.ts"
import { Emails } from "../../../src/services/accounts/Emails.ts"
import { mailServer } from "../../support/servers/MailServer.ts"

const email = {
  to: "a@example.com",
  subject: "Confirm your address",
  text: "Open http://quarry.test/link?token=secret"
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

  it.live("say that no robot should answer, and have a plain part before the HTML part", () =>
    Effect.gen(function* () {
      const { port, said } = yield* mailServer("220 test ESMTP")
      yield* Effect.flatMap(Emails, (emails) => emails.send({ ...email, html: "<p>Open it</p>" })).pipe(
        Effect.provide(smtp(port))
      )
      const conversation = said.join("\n")
      assert.match(conversation, /^Auto-Submitted: auto-generated$/m)
      assert.match(conversation, /^Content-Type: multipart\/alternative;/m)
      const [plain, html] = [conversation.indexOf("text/plain"), conversation.indexOf("text/html")]
      assert.isTrue(plain > 0 && plain < html)
      assert.include(conversation, Buffer.from("<p>Open it</p>").toString("base64"))
    })
  )

  it.live("an email that a server refuses is logged without its text", () =>
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
