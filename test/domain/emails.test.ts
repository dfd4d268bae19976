import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type EmailBody, htmlText, momentText, plainText } from "../../src/domain/emails/EmailBody.ts"
import { eventTypes } from "../../src/domain/webhooks/Event.ts"
import { eventEmail } from "../../src/domain/webhooks/eventText.ts"

const bodyOf = (text: string): EmailBody => ({
  subject: text,
  paragraphs: [text],
  facts: [["From", text]],
  button: { text, href: "https://quarry.test/oauth/confirm?token=a&callbackURL=%2Fdashboard" },
  ifUnexpected: text,
  links: [{ text, href: "https://quarry.test/dashboard/webhooks" }]
})

const eventOf = (type: (typeof eventTypes)[number]) => ({
  id: "evt_1",
  accountId: "acc_1",
  type,
  createdAt: Date.UTC(2026, 10, 27, 14, 5),
  data: {
    name: "production",
    hint: "sk_live_…abcd",
    plan: "growth",
    previous_plan: "trial",
    credits: 2,
    resets_at: "2026-12-10T09:30:00.000Z",
    expires_at: "2026-12-05T10:00:00.000Z"
  }
})

describe("the two parts of an email", () => {
  it("escape every text in HTML, and load nothing from elsewhere", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const html = htmlText(bodyOf(`<img src="https://evil.example">${text}`))
        assert.notMatch(html, /<(?:img|link|script|iframe|object)\b|<[^>]*\ssrc=|@import/i)
        assert.deepStrictEqual(
          [...new Set(html.match(/(?:href|src)="https?:\/\/[^/"]*/g))],
          ['href="https://quarry.test']
        )
      })
    )
  })

  it("have one button, follow the reader's color scheme, and say the same", () => {
    const body = bodyOf("Hello")
    const html = htmlText(body)
    assert.lengthOf(html.match(/class="button"/g) ?? [], 1)
    assert.include(html, "prefers-color-scheme: dark")
    assert.include(html, "token=a&amp;callbackURL")
    assert.include(plainText(body), `\n\n${body.button.href}\n\n`)
    for (const [name, value] of body.facts) assert.include(plainText(body), `${name}: ${value}`)
  })

  it("write every time as people do", () => {
    const textOf = (type: (typeof eventTypes)[number]) =>
      plainText(eventEmail(eventOf(type), "https://quarry.test", []))
    for (const type of eventTypes) assert.notMatch(textOf(type), /\d{4}-\d\d-\d\d/)
    assert.include(textOf("credits.exhausted"), "The quota resets on 10 Dec 2026, 09:30 UTC.")
    assert.include(textOf("key.expiring"), "expires on 5 Dec 2026, 10:00 UTC.")
  })

  it("name the key in the subject, say when, lead to the page to act on, and say what to do if it was a stranger", () => {
    const created = eventEmail(eventOf("key.created"), "https://quarry.test", [])
    assert.strictEqual(created.subject, 'Quarry: API key "production" was created')
    assert.deepStrictEqual(created.facts, [["When", "27 Nov 2026, 14:05 UTC"]])
    assert.strictEqual(created.button.href, "https://quarry.test/dashboard/keys")
    assert.match(created.ifUnexpected ?? "", /revoke the key/)
    for (const type of eventTypes) {
      const { button, facts } = eventEmail(eventOf(type), "https://quarry.test", [])
      assert.match(button.href, /^https:\/\/quarry\.test\/dashboard\/\w+$/)
      assert.lengthOf(facts, 1)
    }
  })

  it("R68: say who caused an event, from which address and in which browser, as far as they are known", () => {
    const requester = {
      actor: "ada@example.com",
      address: "203.0.113.7",
      browser: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    }
    const body = eventEmail({ ...eventOf("key.created"), requester }, "https://quarry.test", [])
    for (const text of [plainText(body), htmlText(body)]) {
      for (const fact of ["By: ada@example.com", "From: 203.0.113.7", "Browser: Firefox on Linux"]) {
        assert.include(text, fact)
      }
    }
    const byOperator = { ...eventOf("key.revoked"), requester: { actor: "operator" } }
    assert.deepStrictEqual(eventEmail(byOperator, "https://quarry.test", []).facts.slice(1), [
      ["By", "the operator of this server"]
    ])
  })

  it("write moments in UTC", () => {
    assert.strictEqual(momentText(Date.UTC(2026, 0, 5, 0, 0)), "5 Jan 2026, 00:00 UTC")
  })
})
