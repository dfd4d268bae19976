import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"

Dashboard.describeDashboard("the overview", (it) => {
  it.effect("leads an account without searches through its first steps, and shows them afterwards", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard", "Overview")
        await page.getByRole("heading", { name: "Create an API key" }).waitFor()
        await page.getByText("Your plan: Trial").waitFor()
        await Dashboard.expectAccessible(page)
        const { secret } = await person.makeKey("first")
        await person.search(secret, "http caching")
        await page.reload()
        const row = page.getByRole("row", { name: /http caching/ })
        await row.waitFor()
        assert.include((await row.textContent()) ?? "", "ok")
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("fits into a window of 360 pixels", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard", "Overview")
        await page.getByRole("heading", { name: "Create an API key" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Menu" }).click()
        await page.getByRole("link", { name: "Account" }).click()
        await page.getByRole("heading", { level: 1, name: "Account" }).waitFor()
      })
    })
  )

  it.effect("shows what is wrong where a request fails, and tries again", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/500|429|Failed to load|ERR_/)
      yield* Effect.promise(async () => {
        const recent = "**/v1/query/history?limit=8"
        const failure = { error: "internal_error", message: "The request failed.", request_id: "6ba7b810" }
        await page.route(recent, (route) =>
          route.fulfill({ status: 500, json: failure, headers: { "x-request-id": "6ba7b810" } })
        )
        await person.open("/dashboard", "Overview")
        await page.getByText("Something failed on our side").waitFor()
        await page.getByText("6ba7b810").waitFor()
        await Dashboard.expectAccessible(page)
        await page.unroute(recent)
        await page.route(recent, (route) =>
          route.fulfill({
            status: 429,
            json: { error: "rate_limited", message: "Too many requests.", request_id: "1" },
            headers: { "retry-after": "2" }
          })
        )
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("button", { name: /Try again in [12] seconds?/ }).waitFor()
        await page.unroute(recent)
        await page.route(recent, (route) => route.abort())
        await page.getByRole("button", { name: "Try again", exact: true }).click()
        await page.getByText("You seem to be offline").waitFor()
        await page.unroute(recent)
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("heading", { name: "Create an API key" }).waitFor()
      })
    })
  )

  it.effect("keeps the places of what loads slowly, so that nothing moves when it comes", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const gate = Promise.withResolvers<void>()
        await page.route("**/v1/**", async (route) => {
          await gate.promise
          await route.continue()
        })
        await person.open("/dashboard", "Overview")
        await page.getByText("Loading").first().waitFor({ state: "attached" })
        await Dashboard.expectAccessible(page)
        const topOf = () => page.evaluate<number>("document.querySelectorAll('.card')[2].getBoundingClientRect().top")
        const before = await topOf()
        gate.resolve()
        await page.getByText("Your plan: Trial").waitFor()
        await page.getByRole("heading", { name: "Create an API key" }).waitFor()
        assert.isAtMost(Math.abs((await topOf()) - before), 12)
      })
    })
  )

  it.effect("has a page for an address that is none", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      yield* Effect.promise(async () => {
        await person.open("/dashboard/nothing/at/all", "Not found")
        await Dashboard.expectAccessible(person.page)
        await person.page.getByRole("link", { name: "Go to the overview" }).click()
        await person.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
      })
    })
  )
})
