import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "puppeteer-core"
import { describeWithFirefox, firefoxPage, firefoxPageWith } from "../../support/processes/Firefox.ts"
import { mailServer, nextLink } from "../../support/servers/MailServer.ts"
import * as Dashboard from "../support/Dashboard.ts"

/** A person at the keyboard and mouse, whose clicks are counted. */
const personAt = (page: Page) => {
  let clicks = 0
  return {
    clicks: () => clicks,
    type: (label: string, text: string) => page.locator(`::-p-aria(${label}[role="textbox"])`).fill(text),
    typePassword: (text: string) => page.locator("input[type=password]").fill(text),
    click: async (role: "button" | "link", name: string) => {
      clicks++
      await page.locator(`::-p-aria(${name}[role="${role}"])`).click()
    }
  }
}

/** Watches for errors of scripts and of the page's policy. */
const complaintsOf = (page: Page): ReadonlyArray<string> => {
  const seen: Array<string> = []
  page.on("pageerror", (error) => seen.push(String(error)))
  page.on("console", (message) => {
    if (message.type() === "error") seen.push(message.text())
  })
  return seen
}

describeWithFirefox("the newcomer in Firefox", () => {
  it.live(
    "gets from the printed link to the first result with at most 5 clicks and one password",
    () =>
      Effect.gen(function* () {
        const { process } = yield* Dashboard.serve("embedded")
        const page = yield* firefoxPage
        const greeting = /"link":"([^"]+)"/
        const link = greeting.exec(yield* process.said(greeting))?.[1] ?? ""
        yield* Effect.promise(async () => {
          const [person, complaints] = [personAt(page), complaintsOf(page)]
          const start = performance.now()
          await page.goto(link)
          await person.typePassword(Dashboard.password)
          await person.click("button", "Save password and sign in")
          await person.click("link", "Search in the playground")
          await person.click("button", "Search")
          await page.locator(".results a").wait()
          const seconds = (performance.now() - start) / 1_000
          console.log(`Firefox, printed link to first result: ${person.clicks()} clicks, ${seconds.toFixed(1)} s`)
          assert.isAtMost(person.clicks(), 5)
          assert.deepStrictEqual(complaints, [])
        })
      }),
    300_000
  )

  it.live(
    "gets from sign-up by email to the first result with at most 5 clicks and one password",
    () =>
      Effect.gen(function* () {
        const { port, said } = yield* mailServer("220 mail.example")
        const { origin } = yield* Dashboard.serve("embedded", {
          SMTP_URL: `smtp://127.0.0.1:${port}`,
          EMAIL_FROM: "quarry@example.com"
        })
        const page = yield* firefoxPage
        yield* Effect.promise(async () => {
          const [person, complaints] = [personAt(page), complaintsOf(page)]
          const start = performance.now()
          await page.goto(`${origin}/dashboard/sign-up`)
          await person.type("Email", "newcomer@example.com")
          assert.isNull(await page.$("input[type=password]"))
          await person.click("button", "Create account")
          // The click on the link in the email.
          await page.goto(await nextLink(said))
          await person.typePassword(Dashboard.password)
          await person.click("button", "Save password and sign in")
          await person.click("link", "Playground")
          await page.locator("input[name=query]").fill("http caching")
          await person.click("button", "Search")
          await page.locator(".results a").wait()
          const seconds = (performance.now() - start) / 1_000
          const clicks = person.clicks() + 1
          console.log(`Firefox, sign-up by email to first result: ${clicks} clicks, ${seconds.toFixed(1)} s`)
          assert.isAtMost(clicks, 5)
          assert.deepStrictEqual(complaints, [])
        })
      }),
    300_000
  )
})

const blockAllCookies = { "network.cookie.cookieBehavior": 2 }

describeWithFirefox("a Firefox that blocks all cookies", () => {
  it.live(
    "learns that the dashboard needs them",
    () =>
      Effect.gen(function* () {
        const { origin } = yield* Dashboard.serve("embedded")
        const page = yield* firefoxPageWith(blockAllCookies)
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/dashboard/sign-in`)
          await page.locator('::-p-aria(Quarry needs cookies[role="heading"])').wait()
        })
      }),
    300_000
  )
})
