import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"

/** A receiver of webhooks, whose answers a test chooses. */
const receiver = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly url: string; status: number; readonly close: () => void }>((resolve) => {
        const server = createServer((request, response) => {
          request.resume()
          response.writeHead(state.status).end()
        }).listen(0, "127.0.0.1", () => {
          // It listens on a port, so its address is an object.
          state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
          resolve(state)
        })
        const state = { url: "", status: 500, close: () => void server.close() }
      })
  ),
  ({ close }) => Effect.sync(close)
)

Dashboard.describeDashboard(
  "the webhooks",
  (it) => {
    it.effect("R53: are added, tested, looked at and deleted, also on a phone", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn({ width: 360 })
        const { page } = person
        const hook = yield* receiver
        yield* Effect.promise(async () => {
          person.expectComplaint(/400/)
          await person.open("/dashboard/webhooks", "Webhooks")
          await page.getByRole("heading", { name: "No webhook" }).waitFor()
          await Dashboard.expectAccessible(page)
          await page.getByRole("button", { name: "Add webhook" }).click()
          const dialog = page.getByRole("dialog")
          await dialog.getByLabel("URL").fill("ftp://example.com")
          await dialog.getByRole("button", { name: "Add webhook" }).click()
          await dialog.getByText("The URL must start with https://.").waitFor()
          await dialog.getByLabel("URL").fill(hook.url)
          await dialog.getByLabel("All credits are used").check()
          await Dashboard.expectAccessible(page)
          await dialog.getByRole("button", { name: "Add webhook" }).click()
          assert.match(await dialog.getByRole("textbox", { name: "Secret" }).inputValue(), /^whsec_/)
          await Dashboard.expectAccessible(page)
          await dialog.getByRole("button", { name: "I have saved it" }).click()

          await page.getByRole("button", { name: `Test ${hook.url}` }).click()
          // Nobody has to ask for it: the page follows deliveries that are pending, and the state of their webhook.
          await page.getByText("the endpoint responded with 500").waitFor()
          await page.getByText("Failing for 1 minute").waitFor()
          await Dashboard.expectAccessible(page)
          hook.status = 204
          await page.getByRole("button", { name: "Send again: webhook.test" }).first().click()
          // The first delivery is tried again by itself meanwhile, so there may be two.
          await page.getByText("Delivered in").first().waitFor()
          await page.getByText("webhook.test").first().click()
          await Dashboard.expectAccessible(page)
          const width = await page.evaluate("document.documentElement.scrollWidth")
          assert.strictEqual(width, 360)

          await page.getByLabel("Quota thresholds (percent)").fill("50, 90")
          await page.getByLabel("Pack credits").fill("100")
          await page.getByRole("button", { name: "Save" }).click()
          await page.getByText("Saved.").waitFor()
          const { json } = await person.call("GET", "/v1/webhooks/settings")
          assert.deepInclude(json, { low_percents: [50, 90], low_balance: 100 })
          await page.getByRole("button", { name: "Undo" }).click()
          await page.getByText("Undid the change.").waitFor()
          assert.isNull((await person.call("GET", "/v1/webhooks/settings")).json.low_balance)
          assert.strictEqual(await page.getByLabel("Pack credits").inputValue(), "")

          await Dashboard.choose(page, `More actions for ${hook.url}`, "Disable")
          await page.getByText("Disabled the webhook.").waitFor()
          await Dashboard.expectAccessible(page)
          await page.getByRole("button", { name: "Undo" }).click()
          await page.getByRole("button", { name: `Test ${hook.url}` }).waitFor()

          await Dashboard.choose(page, `More actions for ${hook.url}`, "Delete")
          await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click()
          await page.getByRole("heading", { name: "No webhook" }).waitFor()
        })
      })
    )
  },
  "embedded",
  { WEBHOOKS_ALLOW_PRIVATE: "true" }
)
