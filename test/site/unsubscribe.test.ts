import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Event } from "../../src/domain/webhooks/Event.ts"
import * as EventEmailsSigned from "../../src/layers/webhooks/EventEmailsSigned.ts"
import { type Email, Emails } from "../../src/services/accounts/Emails.ts"
import { Deployment } from "../../src/services/operations/Deployment.ts"
import { EventBooks } from "../../src/services/webhooks/EventBooks.ts"
import { EventEmails, unsubscribePath } from "../../src/services/webhooks/EventEmails.ts"
import { rotatingKeyring } from "../support/accounts/rotatingKeyring.ts"
import { aCaller, found, providing, servicesOver } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"
import * as MemoryStorage from "../support/stores/MemoryStorage.ts"

const origin = "http://quarry.test"

/** The listener with signed links, and the emails that were sent. */
const setting = () => {
  const sent: Array<Email> = []
  const keyring = rotatingKeyring()
  const keep = (email: Email) => Effect.sync(() => void sent.push(email))
  const emails = EventEmailsSigned.layer({ keyring }).pipe(
    Layer.provide(Layer.succeed(Emails, { delivers: true, send: keep, deliver: keep })),
    Layer.provide(Layer.succeed(Deployment, { origin, demoOrigin: undefined, corsOrigins: [] }))
  )
  const services = servicesOver(
    MemoryStorage.layer,
    providing(() => Effect.succeed(found(1)))
  )
  return { keyring, sent, services: emails.pipe(Layer.provideMerge(services)) }
}

/** An account with an email that it got, and the path of the link in it. */
const aReader = Effect.fnUntraced(function* (sent: ReadonlyArray<Email>) {
  const { account } = yield* aCaller({ plan: "growth" })
  const event: Event = {
    id: "evt_1",
    accountId: account.id,
    type: "pack.granted",
    createdAt: 0,
    data: { credits: 5, balance: 5 }
  }
  yield* (yield* EventEmails).send(account.email, event)
  const email = sent.at(-1) ?? assert.fail("no email was sent")
  const link = /<(.*)>/.exec(email.headers?.["List-Unsubscribe"] ?? "")?.[1] ?? ""
  assert.isTrue(link.startsWith(`${origin}${unsubscribePath}?token=`), link)
  const types = Effect.flatMap(EventBooks, (books) =>
    Effect.map(books.settings(account.id), ({ emailTypes }) => emailTypes)
  )
  return { account, email, path: link.slice(origin.length), types }
})

describe("the link in emails of events", () => {
  it.effect(
    "R53: is in the headers of RFC 8058 and in the text, and a mail program's button stops emails by it",
    () => {
      const { sent, services } = setting()
      return Effect.gen(function* () {
        const api = yield* TestApi.make
        const { account, email, path, types } = yield* aReader(sent)
        assert.deepStrictEqual([email.to, email.subject], [account.email, "Quarry: 5 credits were added"])
        assert.deepStrictEqual(email.headers, {
          "List-Unsubscribe": `<${origin}${path}>`,
          "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
          "X-Quarry-Event": "evt_1"
        })
        assert.include(email.text, `${origin}${path}`)

        const page = yield* api.get(path)
        assert.strictEqual(page.status, 200)
        assert.include(page.text, `<form method="post" action="${path}">`)
        assert.include(yield* types, "pack.granted")

        const head = yield* api.send("HEAD", path)
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        assert.strictEqual(head.headers.get("content-length"), String(Buffer.byteLength(page.text)))
        assert.include(yield* types, "pack.granted")

        const other = yield* aCaller({ plan: "growth" })
        const headers = { "content-type": "application/x-www-form-urlencoded" }
        const body = "List-Unsubscribe=One-Click"
        const stopped = yield* api.send("POST", path, { headers, body })
        assert.strictEqual(stopped.status, 200)
        assert.include(stopped.text, "Emails turned off")
        assert.deepStrictEqual(yield* types, [])
        assert.notDeepEqual((yield* (yield* EventBooks).settings(other.account.id)).emailTypes, [])
        assert.strictEqual((yield* api.send("POST", path, { headers, body })).status, 200)
      }).pipe(Effect.provide(services))
    }
  )

  it.effect("R53: with another token than ours is not valid, and stops nothing", () => {
    const { sent, services } = setting()
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, path, types } = yield* aReader(sent)
      const other = yield* aCaller({ plan: "growth" })
      const token = path.slice(path.indexOf("=") + 1)
      const signature = token.slice(token.indexOf(".") + 1)
      const forged = [
        "",
        account.id,
        `${account.id}.`,
        `${account.id}.${"A".repeat(signature.length)}`,
        `${account.id}.${signature.slice(0, -1)}`,
        `${other.account.id}.${signature}`,
        `.${signature}`,
        `${token}.more`,
        `${token}%22%3E%3Cscript%3E`,
        `${token}%00`,
        "%F0%9F%90%98",
        "a".repeat(4_000)
      ]
      for (const text of forged) {
        for (const method of ["GET", "POST"]) {
          const answer = yield* api.send(method, `${unsubscribePath}?token=${text}`)
          assert.strictEqual(answer.status, 400, `${method} ${text}`)
          assert.include(answer.text, "This link is not valid")
          assert.notInclude(answer.text, "<script>")
        }
      }
      assert.strictEqual((yield* api.send("POST", unsubscribePath)).status, 400)
      assert.strictEqual((yield* api.send("HEAD", unsubscribePath)).status, 400)
      assert.include(yield* types, "pack.granted")
    }).pipe(Effect.provide(services))
  })

  it.effect("R53, R56: is valid until the AUTH_SECRET that signed it is gone", () => {
    const { keyring, sent, services } = setting()
    return Effect.gen(function* () {
      const api = yield* TestApi.make
      const { path } = yield* aReader(sent)
      const status = Effect.map(api.get(path), (answer) => answer.status)
      keyring.give()
      assert.strictEqual(yield* status, 200)
      keyring.rotate()
      assert.strictEqual(yield* status, 200)
      const later = yield* aReader(sent)
      keyring.finish()
      assert.strictEqual(yield* status, 400)
      assert.strictEqual((yield* api.get(later.path)).status, 200)
    }).pipe(Effect.provide(services))
  })
})
