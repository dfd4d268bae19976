import { setTimeout } from "node:timers/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "../support/Dashboard.ts"

/** Every page with an API that is slow, and with one that does not answer. */

const slowMs = 3_500

const pages: ReadonlyArray<readonly [path: string, heading: string]> = [
  ["", "Overview"],
  ["/playground", "Playground"],
  ["/log", "Log"],
  [`/log/qry_${"0".repeat(32)}`, "Logged search"],
  ["/usage", "Usage"],
  ["/keys", "API keys"],
  ["/apps", "Connected apps"],
  ["/webhooks", "Webhooks"],
  ["/billing", "Billing"],
  ["/members", "Members"],
  ["/account", "Account"]
]

/** Pages that show nothing of the API before somebody acts. */
const isForm = (path: string): boolean => path === "/playground"

Dashboard.describeDashboard("the API's faults", (it) => {
  it.effect("shows on every page that it loads, while the API takes 3.5 seconds, and then what it loaded", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await page.route("**/v1/**", async (route) => {
          await setTimeout(slowMs)
          await route.continue().catch(() => undefined)
        })
        for (const [path, heading] of pages) {
          await person.open(`/dashboard${path}`, heading)
          if (!isForm(path)) await page.locator(".skeleton").first().waitFor({ timeout: slowMs })
          assert.strictEqual(await page.getByRole("alert").count(), 0, path)
          await page
            .locator(".skeleton")
            .first()
            .waitFor({ state: "detached", timeout: 4 * slowMs })
          assert.strictEqual(await page.getByRole("alert").count(), 0, path)
        }
      })
    })
  )

  it.effect("shows one error with a retry on every page, while the API does not answer, and recovers", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      // The browser itself reports each request that failed. Anything else would fail the test.
      person.expectComplaint(/^Failed to load resource: net::ERR_CONNECTION_REFUSED$/)
      yield* Effect.promise(async () => {
        const alert = page.getByRole("alert")
        for (const [path, heading] of pages) {
          await page.route("**/v1/**", (route) => route.abort("connectionrefused"))
          await page.goto(`${person.origin}/dashboard${path}`)
          await alert.waitFor()
          assert.strictEqual(await page.getByRole("heading", { level: 1 }).count(), 1, path)
          await page.unroute("**/v1/**")
          await alert.getByRole("button", { name: "Try again" }).click()
          await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor()
          await alert.waitFor({ state: "detached" })
        }
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("shows one error with a retry, where the API dies after the page was opened", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/^Failed to load resource: net::ERR_CONNECTION_REFUSED$/)
      yield* Effect.promise(async () => {
        const faults: Array<string> = []
        for (const [path, heading] of pages) {
          if (isForm(path)) continue
          await person.open("/dashboard/playground", "Playground")
          await page.route("**/v1/**", (route) => route.abort("connectionrefused"))
          await page.evaluate(
            `history.pushState({}, "", "/dashboard${path}"); dispatchEvent(new PopStateEvent("popstate"))`
          )
          await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor()
          await page.getByRole("alert").first().waitFor()
          await page.waitForLoadState("networkidle")
          const shown = await page.getByRole("alert").count()
          if (shown !== 1) faults.push(`${path} shows ${shown} errors`)
          await page.unroute("**/v1/**")
          await page.getByRole("button", { name: "Try again" }).first().click()
          await page.getByRole("alert").first().waitFor({ state: "detached" })
        }
        assert.deepStrictEqual(faults, [])
      })
    })
  )
})
