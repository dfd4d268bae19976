import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "../support/Dashboard.ts"

Dashboard.describeDashboard("the newcomer", (it) => {
  it.effect("gets from the printed link to the first result with at most 5 clicks and one password", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { process } = yield* (yield* Dashboard.Running).live
      const greeting = /"link":"([^"]+)"/
      const link = greeting.exec(yield* process.said(greeting))?.[1] ?? ""
      const { page } = visitor
      yield* Effect.promise(async () => {
        const clicks = await Dashboard.countClicks(page)
        const start = performance.now()
        await page.goto(link)
        await page.getByLabel("Password").fill(Dashboard.password)
        await page.getByRole("button", { name: "Save password and sign in" }).click()
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await page.getByRole("link", { name: "Search in the playground" }).click()
        await page.getByRole("button", { name: "Search", exact: true }).click()
        await page.locator(".results a").first().waitFor()
        const seconds = (performance.now() - start) / 1_000
        console.log(`From the printed link to the first result: ${clicks()} clicks, ${seconds.toFixed(1)} s`)
        assert.isAtMost(clicks(), 5)
        assert.isAbove(clicks(), 0)
      })
    })
  )

  it.effect("finds pages by Ctrl-K, shortcuts by ?, and chooses a theme, all by the keyboard", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard", "Overview")
        assert.strictEqual(await page.title(), "Overview · Quarry")
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox").waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.type("webh")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor()
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox").waitFor()
        const id = `bat_${"0".repeat(32)}`
        await page.keyboard.type(id)
        await page.keyboard.press("Enter")
        await page.waitForURL(`**/dashboard/log?batch=${id}`)
        await page.keyboard.press("?")
        await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.press("Escape")
        await page.keyboard.press("g")
        await page.keyboard.press("k")
        await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
        await page.getByRole("radio", { name: "Dark" }).check({ force: true })
        const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
        assert.strictEqual(await background(), "rgb(19, 18, 17)")
        await page.reload()
        await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor()
        assert.strictEqual(await background(), "rgb(19, 18, 17)")
      })
    })
  )

  it.effect("opens a page by an address with a trailing slash, and closes the phone's menu by Escape", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 390 })
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/", "Overview")
        await person.open("/dashboard/keys/", "API keys")
        assert.strictEqual(new URL(page.url()).pathname, "/dashboard/keys")
        await page.getByRole("button", { name: "Menu" }).click()
        await page.getByRole("link", { name: "Billing" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.press("Escape")
        await page.getByRole("link", { name: "Billing" }).waitFor({ state: "hidden" })
        assert.strictEqual(await page.getByRole("button", { name: "Menu" }).getAttribute("aria-expanded"), "false")
      })
    })
  )

  it.effect("is led to the sign-in page without a failed request, with the focus in the email field", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { origin, page } = visitor
      yield* Effect.promise(async () => {
        const requests: Array<string> = []
        page.on("request", (request) => requests.push(new URL(request.url()).pathname))
        await page.goto(origin)
        await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
        await page.waitForLoadState("networkidle")
        assert.deepStrictEqual(
          requests.filter((path) => path.startsWith("/v1/")),
          []
        )
        assert.strictEqual(await page.evaluate<string>("document.activeElement.name"), "email")
      })
    })
  )

  it.effect("sees focus rings with a contrast of at least 3 to 1, in light and dark", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { page } = visitor
      const ratio = `(() => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })
        const luminance = (color) => {
          canvas.fillStyle = color
          canvas.fillRect(0, 0, 1, 1)
          const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
          return 0.2126 * r + 0.7152 * g + 0.0722 * b
        }
        const [a, b] = [getComputedStyle(document.activeElement).outlineColor, getComputedStyle(document.querySelector("main")).backgroundColor].map(luminance)
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      })()`
      yield* Effect.promise(async () => {
        await visitor.open("/dashboard/sign-in", "Sign in")
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme })
          await page.keyboard.press("Tab")
          assert.isAtLeast(await page.evaluate<number>(ratio), 3, colorScheme)
        }
      })
    })
  )
})
