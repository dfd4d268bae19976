import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import * as Billing from "./support/Billing.ts"
import * as Dashboard from "./support/Dashboard.ts"

const plans = fileURLToPath(new URL("./support/plans.json", import.meta.url))

Billing.describeBilling(
  "the billing page of a host with plans of its own",
  (it) => {
    it.effect("R75: shows their names, prices and limits", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        const { page } = person
        person.expectComplaint(/404/)
        yield* Effect.promise(async () => {
          await person.open("/dashboard", "Overview")
          await page.getByText("Your plan: Taster").waitFor()
          await person.open("/dashboard/billing", "Billing")
          const offer = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Team" }) })
          for (const text of ["$59", "90,000 searches a month", "6 concurrent searches per batch", "No credit packs"]) {
            await offer.getByText(text).first().waitFor()
          }
          await page.getByText("of 250").waitFor()
          await Dashboard.expectAccessible(page)
          await page.getByRole("button", { name: "Subscribe to Team", exact: true }).click()
          await page.getByRole("button", { name: "Pay", exact: true }).click()
          await page.getByText("Your plan is now Team.").first().waitFor({ timeout: 20_000 })
          await page.getByText("of 90,000").waitFor()
          await page.getByText("Your plan has no credit packs.").waitFor()
          // A plan that comes later in the list is an upgrade at any price.
          await page.getByRole("button", { name: "Upgrade to Business", exact: true }).waitFor()
        })
      })
    )
  },
  { QUARRY_PLANS: plans }
)
