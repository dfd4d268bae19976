import { readFileSync } from "node:fs"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"

Dashboard.describeDashboard("the activity", (it) => {
  for (const options of [{}, { scheme: "dark", width: 390 }] as const) {
    it.effect(`R68: shows who did what, filters by keyboard, and exports lines (${JSON.stringify(options)})`, () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn(options)
        const { page } = person
        yield* Effect.promise(async () => {
          await person.makeKey("crawler")
          await person.open("/dashboard/activity", "Activity")
          const rows = page.locator("section[aria-label='Activity, newest first'] tbody tr")
          await rows.nth(2).waitFor()
          assert.match(await rows.first().innerText(), /Key created[\s\S]*crawler[\s\S]*@/)
          assert.match(await rows.first().innerText(), /Chrome on Linux/)
          await Dashboard.expectAccessible(page)
          await page.getByLabel("What").focus()
          await page.keyboard.press("A")
          await page.waitForURL(/type=key/)
          await rows.nth(1).waitFor({ state: "detached" })
          const download = page.waitForEvent("download")
          await page.getByRole("button", { name: "Export NDJSON" }).press("Enter")
          const lines = readFileSync(await (await download).path(), "utf8")
            .trim()
            .split("\n")
          assert.deepStrictEqual(
            lines.map((line) => JSON.parse(line).type),
            ["key.created"]
          )
          await page.getByLabel("Who").fill("nobody@example.com")
          await page.keyboard.press("Enter")
          await page.getByText("Nothing matches").waitFor()
          await Dashboard.expectAccessible(page)
          await page.getByRole("link", { name: "Show everything" }).press("Enter")
          await rows.nth(3).waitFor()
          const overflow = await page.evaluate<number>(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
          )
          assert.isAtMost(overflow, 0)
        })
      })
    )
  }
})
