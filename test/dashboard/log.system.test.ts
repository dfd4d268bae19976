import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

const rows = (page: Page) => page.locator("section[aria-label='Searches, newest first'] tbody tr")

/** Waits until the page lists as many searches as this. */
const expectRows = async (page: Page, count: number): Promise<void> => {
  await rows(page).nth(count).waitFor({ state: "detached" })
  await rows(page)
    .nth(count - 1)
    .waitFor()
}

Dashboard.describeDashboard("the log", (it) => {
  it.effect("filters by the address, page by page, and leads on where nothing is found", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/log", "Log")
        await page.getByText("No searches yet").waitFor()
        await Dashboard.expectAccessible(page)
        const { id, secret } = await person.makeKey("crawler")
        const queries = Array.from({ length: 49 }, (_, n) => `row ${n}`)
        const { json } = await person.call("POST", "/v1/bulk", { queries })
        await person.search(secret, "http caching", "&target=beta_search&source=cron")
        await person.search(secret, "מטמון", "&num=3")
        await page.getByRole("button", { name: "Refresh" }).click()
        await expectRows(page, 50)
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "Older" }).click()
        await page.getByRole("link", { name: "Newest" }).waitFor()
        await expectRows(page, 1)
        assert.isBelow(await page.evaluate<number>("scrollY"), 400)
        await page.goBack()
        await expectRows(page, 50)
        await page.getByLabel("Query contains").fill("CACHING")
        await page.keyboard.press("Enter")
        await page.waitForURL(/text=CACHING/)
        await expectRows(page, 1)
        await page.getByRole("link", { name: "Clear" }).click()
        await page.getByText("Filters cleared.").waitFor()
        await page.getByRole("button", { name: "Undo" }).click()
        await page.waitForURL(/text=CACHING/)
        await expectRows(page, 1)
        await page.getByRole("link", { name: "Clear" }).click()
        await page.getByLabel("Key").selectOption(id)
        await page.waitForURL(new RegExp(`key=${id}`))
        await expectRows(page, 2)
        await page.getByLabel("Target").selectOption("beta_search")
        await expectRows(page, 1)
        await page.goBack()
        await expectRows(page, 2)
        await page.getByLabel("Outcome").selectOption("timed out")
        await page.getByText("No matching searches").waitFor()
        await Dashboard.expectAccessible(page)
        await page.emulateMedia({ reducedMotion: "reduce" })
        await person.open(`/dashboard/log?batch=${json.batch_id}&from=2020-01-01T00%3A00%3A00Z`, "Log")
        await expectRows(page, 49)
        await page.getByLabel("Before (local time)").fill("2020-01-02T00:00")
        await page.getByText("No matching searches").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("R51: says of a key in its grace when it ends, and of no other that it is revoked", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      yield* Effect.promise(async () => {
        const replaced = await person.makeKey("deploy")
        await person.call("POST", `/v1/api-keys/${replaced.id}/rotate`, { grace_seconds: 3_600 })
        const ended = await person.makeKey("crawler")
        await person.call("DELETE", `/v1/api-keys/${ended.id}`)
        await person.open("/dashboard/log", "Log")
        const option = (id: string) => person.page.getByLabel("Key").locator(`option[value=${id}]`).textContent()
        assert.match((await option(replaced.id)) ?? "", /^deploy \(.*\), old secret, stops working in /)
        assert.match((await option(ended.id)) ?? "", /^crawler \(.*\), revoked$/)
      })
    })
  )

  it.effect("says which filter of an address is wrong, and when it cannot be read", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { context, page } = person
      person.expectComplaint(/400|ERR_INTERNET_DISCONNECTED/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/log?status=good", "Log")
        await page.getByText("Invalid request").waitFor()
        assert.strictEqual(await page.getByLabel("Outcome", { exact: true }).getAttribute("aria-invalid"), "true")
        assert.strictEqual(await page.getByLabel("Outcome", { exact: true }).inputValue(), "good")
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "Clear" }).click()
        await page.getByText("No searches yet").waitFor()
        await context.setOffline(true)
        await page.getByRole("button", { name: "Refresh" }).click()
        await page.getByText("You seem to be offline").waitFor()
        await context.setOffline(false)
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByText("No searches yet").waitFor()
      })
    })
  )

  it.effect("shows an entry at its own address: details, code, batch, and runs it again in the playground", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const queries = [{ query: "http caching", geo: "de", num: 4 }, "second row"]
        const { json } = await person.call("POST", "/v1/bulk", { queries })
        const [first] = json.results
        await person.open(`/dashboard/log/${first.id}`, "Logged search")
        await page.getByText(json.batch_id).waitFor()
        await page.getByText(first.id, { exact: true }).waitFor()
        assert.include(await page.locator(".code").innerText(), "--data-urlencode 'geo=de'")
        await page.getByRole("row", { name: /second row/ }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "second row" }).click()
        await page.waitForURL(`**/log/${json.results[1].id}`)
        await page.goBack()
        await page.getByRole("link", { name: "Run again in the playground" }).click()
        await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor()
        assert.strictEqual(await page.getByLabel("Query").inputValue(), "http caching")
        assert.include(page.url(), "geo=de")
        assert.include(page.url(), "num=4")
        assert.notInclude(page.url(), "locale")
      })
    })
  )

  it.effect("treats another account's entry like an unknown one", () =>
    Effect.gen(function* () {
      const [person, other] = [yield* Dashboard.signedIn({ width: 360 }), yield* Dashboard.signedIn()]
      const { page } = person
      yield* Effect.promise(async () => {
        const { json } = await other.call("GET", "/v1/query?query=theirs")
        for (const id of [json.id, `qry_${"0".repeat(32)}`, "nonsense"]) {
          await person.open(`/dashboard/log/${id}`, "Logged search")
          await page.getByText("Search not found").waitFor()
          await Dashboard.expectAccessible(page)
        }
      })
    })
  )

  it.effect("works by the keyboard alone, in a window of 360 pixels", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      yield* Effect.promise(async () => {
        await person.call("GET", "/v1/query?query=http+caching")
        await person.open("/dashboard/log", "Log")
        await page.getByLabel("Query contains").focus()
        await page.keyboard.type("cach")
        await page.keyboard.press("Enter")
        await page.waitForURL(/text=cach/)
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "http caching" }).focus()
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { level: 1, name: "Logged search" }).waitFor()
        await page.locator("h1:focus").waitFor()
        await page.getByText("Search id").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )
})
