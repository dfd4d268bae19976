import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"
import { describePlayground, gammaLabel } from "./support/Playground.ts"

describePlayground("names of targets", (it) => {
  it.effect("stand beside the identifiers wherever targets are listed, and fit on a phone (R73)", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      const option = `gamma_search — \u2068${gammaLabel.name}\u2069`
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?query=a&target=gamma_search", "Playground")
        const select = page.getByLabel("Target", { exact: true })
        assert.include(await select.innerText(), option)
        await page.getByText(gammaLabel.about, { exact: true }).waitFor()
        await page.getByText("Compare targets").click()
        await page.getByRole("rowheader").getByText(gammaLabel.name).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Search", exact: true }).click()
        await page.locator(".results a").first().waitFor()
        await person.open("/dashboard/log?target=gamma_search", "Log")
        await page.locator("td").getByText(gammaLabel.name).waitFor()
        assert.include(await page.getByLabel("Target", { exact: true }).innerText(), option)
        await page.getByRole("button", { name: `Remove the filter Target: ${option}` }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.locator("tbody a").first().click()
        await page.locator("dd").getByText(gammaLabel.name).waitFor()
        await Dashboard.expectAccessible(page)
        await person.open("/dashboard/usage?group_by=target", "Usage")
        await page.getByRole("rowheader").getByText(option).waitFor()
        await Dashboard.expectAccessible(page)
        await person.open("/dashboard/keys", "API keys")
        await page.getByRole("button", { name: "Create key" }).first().click()
        await page.getByRole("dialog").getByText("Limits (optional)").click()
        await page.getByRole("dialog").getByLabel(`gamma_search ${gammaLabel.name}`).check()
        await Dashboard.expectAccessible(page)
      })
    })
  )
})
