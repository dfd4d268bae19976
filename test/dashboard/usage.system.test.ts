import { readFile } from "node:fs/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

const control = (page: Page, name: string) => page.getByRole("combobox", { name, exact: true })

Dashboard.describeDashboard("the usage page", (it) => {
  it.effect("shows the same figures as bars, table and CSV, and keeps what it shows in the address", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/usage", "Usage")
        await page.getByRole("heading", { name: "No searches in this range" }).waitFor()
        await Dashboard.expectAccessible(page)
        assert.isTrue(await page.getByRole("button", { name: "Download CSV" }).isDisabled())

        const first = await person.makeKey('=HYPERLINK("https://evil.example")')
        const second = await person.makeKey("second")
        await person.search(first.secret, "http caching")
        await person.search(first.secret, "http caching", "&target=beta_search")
        await person.search(second.secret, "http caching")
        await page.reload()
        await page.getByText("Show as a table").click()
        const today = page.getByRole("table").getByRole("row").last()
        assert.deepStrictEqual(await today.getByRole("cell").allTextContents(), ["3", "0", "0", "0"])
        await Dashboard.expectAccessible(page)

        await control(page, "Split by").selectOption({ label: "Key" })
        await control(page, "Range").selectOption({ label: "24 hours" })
        await page.waitForURL(/\?group_by=key&range=24h$/)
        await page.getByRole("heading", { name: "By key" }).waitFor()
        assert.strictEqual(await control(page, "Interval").inputValue(), "hour")
        assert.match((await page.getByRole("row", { name: /^second/ }).textContent()) ?? "", /33\.3%/)
        // Figures that are read again are dim for a moment.
        await page.locator('[aria-busy="true"]:not(.button)').first().waitFor({ state: "detached" })
        await Dashboard.expectAccessible(page)

        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name: "Download CSV" }).click()
        ])
        assert.match(download.suggestedFilename(), /^quarry-usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/)
        const [head, ...rows] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n")
        assert.strictEqual(
          head,
          "\ufeffstart,key,key_id,searches,credits,ok,upstream_error,upstream_timeout,page_unreadable"
        )
        assert.deepStrictEqual(
          rows.map((row) => row.slice(row.indexOf(",") + 1)).sort(),
          [`"'=HYPERLINK(""https://evil.example"")",${first.id},2,2,2,0,0,0`, `second,${second.id},1,1,1,0,0,0`].sort()
        )

        await control(page, "Key").selectOption(second.id)
        await page.getByRole("row", { name: /^second.*100%/ }).waitFor()
        await page.reload()
        await page.getByRole("row", { name: /^second.*100%/ }).waitFor()
        await page.goBack()
        await page.getByRole("row", { name: /^second.*33\.3%/ }).waitFor()
      })
    })
  )

  it.effect("takes a range of the person's own, and says which is none", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      person.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("one")
        await person.search(secret, "http caching")
        await person.open("/dashboard/usage", "Usage")
        await control(page, "Range").selectOption({ label: "Custom range" })
        await page.getByLabel("From (UTC)").fill("2026-01-31T00:00")
        await page.getByLabel("Until (UTC)").fill("2026-01-30T00:00")
        await page.getByRole("button", { name: "Show" }).click()
        await page.getByText("The start must be before the end.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Until (UTC)").fill("2026-02-02T00:00")
        await page.getByRole("button", { name: "Show" }).click()
        await page.getByText("No searches in this range").waitFor()
        assert.include((await page.locator(".page-header").textContent()) ?? "", "All times are in UTC")
        await control(page, "Range").selectOption({ label: "12 months" })
        await control(page, "Split by").selectOption({ label: "Target" })
        await page.getByRole("row", { name: /^alpha_search/ }).waitFor()
        await control(page, "Split by").selectOption({ label: "Kind" })
        await page.getByRole("row", { name: /^Searches.*100%/ }).waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("says that it could not be read, and reads again when it is asked to", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/ERR_FAILED/)
      yield* Effect.promise(async () => {
        await page.route("**/v1/usage*", (route) => route.abort())
        await person.open("/dashboard/usage", "Usage")
        await page.getByText("You seem to be offline").waitFor()
        await Dashboard.expectAccessible(page)
        await page.unroute("**/v1/usage*")
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByText("No searches in this range").waitFor()
      })
    })
  )
})
