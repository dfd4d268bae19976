import { assert, vi } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Billing from "./support/Billing.ts"
import * as Dashboard from "./support/Dashboard.ts"

const dayMs = 86_400_000

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })

const heading = (page: Page) => page.getByRole("heading", { level: 1, name: "Billing" }).waitFor()

/** Presses a button that leads to the provider's page, and pays there. That page has no icon: a 404. */
const pay = async (page: Page, name: string): Promise<void> => {
  await button(page, name).click()
  await button(page, "Pay").click()
  await heading(page)
}

Billing.describeBilling("the billing page", (it) => {
  it.effect("sells a plan and a pack, and says so only once they are booked", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const provider = yield* Billing.Provider
      const { page } = person
      person.expectComplaint(/404|503/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/billing", "Billing")
        await page.getByText("Free searches, granted once.").waitFor()
        await page.getByText("Packs are available with a subscription").waitFor()
        await Dashboard.expectAccessible(page)

        // The provider's word is late: neither its delivery nor its list has the purchase yet.
        provider.deliverTo("http://127.0.0.1:9/")
        provider.fail("500", "GET /v1/")
        await pay(page, "Subscribe to Growth")
        await page.getByText("The payment provider cannot be reached").waitFor()
        assert.strictEqual(await page.getByText("Your plan is now Growth.").count(), 0)
        await Dashboard.expectAccessible(page)
        provider.mend()
        provider.deliverTo(`${person.origin}/webhooks/billing`)
        await button(page, "Check again").click()
        await page.getByText("Your plan is now Growth.").first().waitFor({ timeout: 20_000 })
        await page.getByText("of 75,000").waitFor()
        assert.notInclude(page.url(), "checkout_id")
        await Dashboard.expectAccessible(page)

        await pay(page, "Buy 10,000 credits")
        await page.getByText("10,000 credits were added to your balance.").first().waitFor({ timeout: 20_000 })
        const { json } = await person.call("GET", "/v1/billing")
        assert.deepStrictEqual([json.plan, json.balance], ["growth", 10_000])
      })
    })
  )

  it.effect("changes the plan: down later and called off, up at once (R39)", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      person.expectComplaint(/404/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/billing", "Billing")
        await pay(page, "Subscribe to Growth")
        await page.getByText("Your plan is now Growth.").first().waitFor({ timeout: 20_000 })
        await button(page, "Change to Starter").click()
        await page.getByText("Nothing is charged now.").waitFor()
        await Dashboard.expectAccessible(page)
        await button(page, "Change at the end of the period").click()
        await button(page, "Keep Growth").waitFor()
        await Dashboard.expectAccessible(page)
        await button(page, "Keep Growth").click()
        await button(page, "Change to Starter").waitFor()
        await button(page, "Upgrade to Business").click()
        await page.getByText("Business starts immediately.").waitFor()
        await Dashboard.expectAccessible(page)
        await button(page, "Upgrade now").click()
        await page.getByText("Your plan is now Business.").waitFor()
        await page.getByText(/^of (199,9\d\d|200,000)$/).waitFor()
      })
    })
  )

  it.effect("says that a card declined, and what a renewal that is not paid ends (R41)", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const provider = yield* Billing.Provider
      const { page } = person
      person.expectComplaint(/404|409/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/billing", "Billing")
        await pay(page, "Subscribe to Starter")
        await page.getByText("Your plan is now Starter.").first().waitFor({ timeout: 20_000 })
        const customer = [...provider.model.customers.values()].find(({ email }) => email === person.email)
        provider.model.setCard(customer?.id ?? "", "declines")
        await button(page, "Upgrade to Growth").click()
        await button(page, "Upgrade now").click()
        await page.getByRole("dialog").getByRole("alert").waitFor()
        await page.getByRole("dialog").getByRole("button", { name: "Update the card" }).waitFor()
        await Dashboard.expectAccessible(page)
        await button(page, "Cancel").click()

        await button(page, "Cards, invoices, and cancellation").click()
        await button(page, "Cancel at the period's end").click()
        await page.getByRole("link", { name: "Back" }).click()
        await heading(page)
        await page.getByText(/Your subscription ends on/).waitFor()
        await Dashboard.expectAccessible(page)
        await button(page, "Keep Starter").click()
        await page.getByText(/Your subscription ends on/).waitFor({ state: "detached" })

        provider.model.advance(32 * dayMs)
        const isPastDue = async () => (await person.call("GET", "/v1/billing")).json.subscription.status === "past_due"
        await vi.waitUntil(isPastDue, { timeout: 60_000, interval: 1_000 })
        await page.reload()
        await page.getByText("The payment for Starter failed").waitFor()
        await button(page, "Open the portal").waitFor()
        await Dashboard.expectAccessible(page)
        assert.strictEqual(await page.getByRole("button", { name: /^Upgrade/ }).count(), 0)
      })
    })
  )
})

Dashboard.describeDashboard("the billing page of a service that sells nothing", (it) => {
  it.effect("says so, and shows the plan", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/billing", "Billing")
        await page.getByText("Purchases are currently unavailable.").waitFor()
        await Dashboard.expectAccessible(page)
        assert.strictEqual(await page.getByRole("button", { name: /^(Subscribe|Buy)/ }).count(), 0)
      })
    })
  )
})
