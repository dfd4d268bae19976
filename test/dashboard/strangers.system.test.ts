import { readFile } from "node:fs/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

/** The dashboard in browsers that are not set up as its authors' are. */

const hourMs = 3_600_000

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

/** Opens a page in another browser context with the person's session. */
const opened = Effect.fnUntraced(function* (
  person: Dashboard.Person,
  options: Parameters<Dashboard.Dashboard["browser"]["newContext"]>[0]
) {
  const { browser } = yield* (yield* Dashboard.Running).live
  const storageState = yield* Effect.promise(() => person.context.storageState())
  const context = yield* Effect.acquireRelease(
    Effect.promise(() => browser.newContext({ ...options, storageState })),
    (context) => Effect.promise(() => context.close())
  )
  return yield* Effect.promise(() => context.newPage())
})

Dashboard.describeDashboard("other people's browsers", (it) => {
  it.effect("take the time from the server, however wrong their own clock is", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("clock")
        await person.search(secret, "http caching")
        for (const wrongMs of [-26 * hourMs, 3 * hourMs]) {
          await page.clock.setSystemTime(Date.now() + wrongMs)
          await person.open("/dashboard/log?range=1h", "Log")
          await page.getByRole("link", { name: "http caching" }).waitFor()
          await person.open("/dashboard", "Overview")
          await page.locator(".stat").filter({ hasText: "Searches today" }).getByText("1", { exact: true }).waitFor()
          await person.open("/dashboard/keys", "API keys")
          await page.getByRole("row", { name: /clock/ }).getByText("now").waitFor()
        }
      })
    })
  )

  it.effect("show English words and ASCII digits in every language, and money that names its country", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("languages")
        await person.search(secret, "http caching")
      })
      for (const [locale, order] of [
        ["de-DE", /\b\d{1,2} \w{3,4} 20\d\d/],
        ["fa-IR", /\b\d{1,2} \w{3,4} 20\d\d/],
        ["ar-EG", /\b\d{1,2} \w{3,4} 20\d\d/],
        ["ja-JP", /\b\w{3} \d{1,2}, 20\d\d/]
      ] as const) {
        const page = yield* opened(person, { locale })
        yield* Effect.promise(async () => {
          for (const path of ["", "/usage", "/log", "/account"]) {
            await page.goto(`${person.origin}/dashboard${path}`)
            await page.waitForLoadState("networkidle")
            const text = await page.locator("main").innerText()
            assert.notMatch(
              text,
              /[\u0660-\u0669\u06f0-\u06f9]|\p{Script=Arabic}|\bTagen\b|月|日/u,
              `${locale} ${path}`
            )
            if (path === "/usage" || path === "/account") assert.match(text, order, `${locale} ${path}`)
          }
        })
      }
    })
  )

  it.effect("that translate the page see fresh figures", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("translated")
        await person.search(secret, "http caching")
        await person.open("/dashboard/usage", "Usage")
        await page.getByText("Show as a table").waitFor()
        const lead = () => page.locator(".page-header .lead").innerText()
        const before = await lead()
        // As Chromium's translator does: each text becomes an element, and the text node is gone.
        await page.evaluate(`(() => {
          const texts = []
          const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT)
          while (walker.nextNode()) texts.push(walker.currentNode)
          for (const text of texts) {
            if (text.parentElement.closest("[translate=no], option, svg") !== null) continue
            const font = document.createElement("font")
            font.textContent = text.data
            text.replaceWith(font)
          }
        })()`)
        await page.getByRole("combobox", { name: "Range", exact: true }).selectOption({ label: "12 months" })
        // Without a script in the page, which its policy forbids.
        await page.locator(".page-header .lead").filter({ hasNotText: before }).waitFor()
        assert.notInclude(await lead(), before.split(" to ")[0] ?? before)
      })
    })
  )

  it.effect("keep their colors and their selection when colors are forced", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const page = yield* opened(person, { forcedColors: "active" })
      yield* Effect.promise(async () => {
        await page.goto(`${person.origin}/dashboard/keys`)
        await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
        const background = (selector: string) =>
          page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).backgroundColor`)
        assert.notStrictEqual(await background("nav a[aria-current]"), await background("nav a:not([aria-current])"))
        assert.notStrictEqual(
          await background(".choice label:has(:checked)"),
          await background(".choice label:not(:has(:checked))")
        )
      })
    })
  )
})

Dashboard.describeDashboard("what must not be lost", (it) => {
  it.effect("a new secret stays over every page until it is acknowledged", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard", "Overview")
        await page.getByRole("link", { name: "API keys" }).click()
        await button(page, "Create key").first().click()
        await page.getByRole("dialog").getByLabel("Name").fill("kept")
        await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
        await page.getByText("Copy the secret now.").waitFor()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        await page.goBack()
        await page.getByRole("heading", { level: 1, name: "Overview", includeHidden: true }).waitFor()
        assert.isTrue(await page.getByText("Copy the secret now.").isVisible())
        await Dashboard.expectAccessible(page)
        await button(page, "I have saved it").click()
        await page.getByRole("dialog").waitFor({ state: "detached" })
        assert.notInclude(await page.content(), "sk_live_kept")
      })
    })
  )

  it.effect("a key whose response was lost is named, and replaced by the next attempt", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/ERR_FAILED|ERR_CONNECTION/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/keys", "API keys")
        let cuts = 1
        await page.route("**/v1/api-keys", async (route) => {
          if (route.request().method() !== "POST" || cuts-- < 1) return route.continue()
          await route.fetch()
          await route.abort()
        })
        await button(page, "Create key").first().click()
        await page.getByRole("dialog").getByLabel("Name").fill("twice")
        const create = page.getByRole("dialog").getByRole("button", { name: "Create key" })
        await create.click()
        await page.getByText("The key twice was created, but the response with its secret was lost.").waitFor()
        await create.click()
        await button(page, "I have saved it").click()
        const { json } = await person.call("GET", "/v1/api-keys")
        const live = json.api_keys.filter((key: { revoked_at: unknown }) => key.revoked_at === null)
        assert.deepStrictEqual([json.api_keys.length, live.length], [2, 1])
      })
    })
  )

  it.effect("Back after signing in leads on to where the person was going", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.context.clearCookies()
        await page.goto(`${person.origin}/dashboard/keys`)
        await page.getByLabel("Email").fill(person.email)
        await page.getByLabel("Password").fill(Dashboard.password)
        await button(page, "Sign in").click()
        await page.waitForURL("**/dashboard/keys")
        await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
        await page.goBack()
        await page.waitForURL("**/dashboard/keys")
        await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
      })
    })
  )

  it.effect("a page at a loopback name leads to BASE_URL, and at any other name says both addresses", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.visitor()
      const { origin, page } = person
      yield* Effect.promise(async () => {
        await page.goto(`${origin.replace("localhost", "127.0.0.1")}/dashboard/sign-in?next=%2Fdashboard%2Fkeys`)
        await page.waitForURL(`${origin}/dashboard/sign-in?next=%2Fdashboard%2Fkeys`)
        const other = origin.replace("localhost", "lan.localhost")
        await page.goto(`${other}/dashboard/sign-in`)
        await page.getByRole("heading", { level: 1, name: "Open Quarry at its own address" }).waitFor()
        const text = await page.locator("main").innerText()
        for (const address of [other, origin, "BASE_URL"]) assert.include(text, address)
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("a log as CSV opens in spreadsheets in every script", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("csv")
        await person.search(secret, "pogoda w Łodzi 東京")
        await person.open("/dashboard/log", "Log")
        const [download] = await Promise.all([page.waitForEvent("download"), button(page, "Export CSV").click()])
        const bytes = await readFile(await download.path())
        assert.deepStrictEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf])
        assert.include(bytes.toString("utf8"), "pogoda w Łodzi 東京")
      })
    })
  )
})

Dashboard.describeDashboard("the log's rows", (it) => {
  it.effect("are at least 15 on a screen, by the keyboard, with details beside them", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const queries = Array.from({ length: 49 }, (_, n) => `row ${n}`)
        await person.call("POST", "/v1/bulk", { queries })
        await person.call("GET", "/v1/query?query=newer")
        await person.call("GET", "/v1/query?query=newest")
        await person.open("/dashboard/log", "Log")
        await page.locator("tbody tr").nth(49).waitFor()
        const visible = await page.evaluate<number>(
          `[...document.querySelectorAll("tbody tr")].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`
        )
        assert.isAtLeast(visible, 15)
        await page.keyboard.press("j")
        await page.locator("tr[aria-current] a:focus").waitFor()
        for (let n = 1; n < 50; n++) await page.keyboard.press("j")
        await page.locator("tr[aria-current] a:focus").waitFor()
        const panel = page.getByRole("complementary", { name: "Selected search" })
        await panel.waitFor()
        await Dashboard.expectAccessible(page)
        // The head stays in view above the rows.
        assert.isTrue(await page.getByRole("columnheader", { name: "Latency" }).isVisible())
        await page.keyboard.press("j")
        await page.waitForURL(/cursor=/)
        await page.locator("tbody tr").nth(1).waitFor({ state: "detached" })
        await page.locator("tr[aria-current] a:focus").waitFor()
        await page.keyboard.press("k")
        await page.waitForURL((url) => !url.searchParams.has("cursor"))
        await page.locator("tr[aria-current] a:focus").waitFor()
        await page.keyboard.press("Escape")
        await panel.waitFor({ state: "detached" })
      })
    })
  )

  it.effect("say on a phone which key made each search", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 390 })
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("shop-frontend")
        await person.search(secret, "http caching")
        for (const [path, heading] of [
          ["/dashboard", "Overview"],
          ["/dashboard/log", "Log"]
        ] as const) {
          await person.open(path, heading)
          await page.getByRole("cell", { name: "shop-frontend" }).waitFor()
          await Dashboard.expectAccessible(page)
        }
      })
    })
  )

  it.effect("are one click away from a bar of the chart, and several bars are a range", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.call("GET", "/v1/query?query=http+caching")
        await person.open("/dashboard/usage?range=7d", "Usage")
        const chart = page.locator(".chart svg")
        await chart.waitFor()
        const { height, width, x, y } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
        await page.mouse.move(x + width * 0.6, y + height / 2)
        await page.mouse.down()
        await page.mouse.move(x + width - 20, y + height / 2, { steps: 4 })
        await page.mouse.up()
        await page.waitForURL(/range=own/)
        await page.goto(`${person.origin}/dashboard/usage?range=7d`)
        await chart.waitFor()
        await page.mouse.click(x + width - 20, y + height / 2)
        await page.waitForURL(/\/dashboard\/log\?from=/)
        await page.getByRole("link", { name: "http caching" }).waitFor()
      })
    })
  )
})
