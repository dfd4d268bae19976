import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

const dialog = (page: Page) => page.getByRole("dialog")
const secretOf = (page: Page) => page.getByLabel("Secret", { exact: true }).inputValue()
const rowOf = (page: Page, name: string) => page.getByRole("row", { name: new RegExp(name) })

/** Presses Tab until an element with this name has the focus. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab")
    const focused = await page.evaluate<string>(
      "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    )
    if (focused === name) return
  }
  assert.fail(`Tab does not reach ${name}`)
}

Dashboard.describeDashboard("the keys page", (it) => {
  it.effect("makes a key by the keyboard alone, and shows its secret once", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { origin, page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/keys", "API keys")
        await page.getByRole("heading", { name: "No active key" }).waitFor()
        await Dashboard.expectAccessible(page)
        await tabTo(page, "Create key")
        await page.keyboard.press("Enter")
        await dialog(page).waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.type("production")
        await page.keyboard.press("Enter")
        await page.getByText("Copy the secret now.").waitFor()
        await Dashboard.expectAccessible(page)
        const secret = await secretOf(page)
        assert.match(secret, /^sk_live_/)
        // The field has the focus, with its whole text selected.
        assert.strictEqual(await page.evaluate<string>("getSelection().toString()"), secret)
        assert.include((await dialog(page).textContent()) ?? "", `QUARRY_API_KEY=${secret}`)
        await page.keyboard.press("Escape")
        await tabTo(page, "Copy the secret")
        await page.keyboard.press("Enter")
        await page.getByText("Copied the secret.").waitFor()
        assert.strictEqual(await page.evaluate<string>("navigator.clipboard.readText()"), secret)
        await tabTo(page, "I have saved it")
        await page.keyboard.press("Enter")
        await dialog(page).waitFor({ state: "detached" })
        const response = await fetch(`${origin}/v1/me`, { headers: { authorization: `Bearer ${secret}` } })
        assert.strictEqual(response.status, 200)
        assert.notInclude(await page.content(), secret)
        const kept = await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
        assert.strictEqual(kept, "[{},{}]")
      })
    })
  )

  it.effect("rotates a key, and revokes it when its name is typed", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("CI")
        await person.search(secret, "http caching")
        await person.open("/dashboard/keys", "API keys")
        await rowOf(page, "CI").getByText("100%").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Rotate CI" }).click()
        await Dashboard.expectAccessible(page)
        const end = dialog(page).getByLabel("Old secret stops working")
        assert.strictEqual(await end.inputValue(), "86400")
        await end.selectOption("immediately")
        await dialog(page).getByRole("button", { name: "Rotate key" }).click()
        await page.getByText("Copy the secret now.").waitFor()
        assert.notStrictEqual(await secretOf(page), secret)
        await page.getByRole("button", { name: "I have saved it" }).click()
        await page.getByText("1 revoked key").waitFor()
        await Dashboard.choose(page, "More actions for CI", "Revoke")
        const revoke = dialog(page).getByRole("button", { name: "Revoke key" })
        assert.isTrue(await revoke.isDisabled())
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Type CI to confirm").fill("CI")
        await revoke.click()
        await page.getByRole("heading", { name: "No active key" }).waitFor()
        await page.getByText("2 revoked keys").click()
        await Dashboard.expectAccessible(page)
        const { json } = await person.call("GET", "/v1/api-keys")
        assert.isTrue(json.api_keys.every((key: { revoked_at: string | null }) => key.revoked_at !== null))
      })
    })
  )

  it.effect("R50: hands a key out with bounds, shows what is spent of its budget, and changes them", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/keys", "API keys")
        await page.getByRole("button", { name: "Create key" }).first().click()
        await dialog(page).getByLabel("Name").fill("intern")
        await dialog(page).getByText("Limits (optional)").click()
        await dialog(page).getByLabel("Expires").fill("2098-05-01T12:00")
        await dialog(page).getByLabel("Budget in credits").fill("50")
        await dialog(page).getByLabel("Budget period").selectOption("life")
        await dialog(page).getByLabel("Networks").fill("127.0.0.1/8")
        await dialog(page).getByLabel("alpha_search").check()
        await Dashboard.expectAccessible(page)
        await dialog(page).getByRole("button", { name: "Create key" }).click()
        await page.getByText("must be a network in CIDR form").waitFor()
        assert.strictEqual(await dialog(page).getByLabel("Budget in credits").inputValue(), "50")
        await Dashboard.expectAccessible(page)
        await dialog(page).getByLabel("Networks").fill("127.0.0.0/8, ::1")
        await dialog(page).getByRole("button", { name: "Create key" }).click()
        await page.getByText("Copy the secret now.").waitFor()
        const secret = await secretOf(page)
        await page.getByRole("button", { name: "I have saved it" }).click()
        await person.search(secret, "http caching")
        await page.reload()
        await rowOf(page, "intern").getByText("1 of 50 in total").waitFor()
        await rowOf(page, "intern").getByText("From 127.0.0.0/8, ::1/128").waitFor()
        await Dashboard.choose(page, "More actions for intern", "Edit limits")
        await Dashboard.expectAccessible(page)
        await dialog(page).getByLabel("Networks").fill("")
        await dialog(page).getByLabel("Budget period").selectOption("day")
        await dialog(page).getByRole("button", { name: "Save limits" }).click()
        await rowOf(page, "intern").getByText("0 of 50 today").waitFor()
        const { json } = await person.call("GET", "/v1/api-keys")
        assert.deepInclude(json.api_keys[0], { networks: null, targets: ["alpha_search"] })
      })
    })
  )

  it.effect("R51: a rotation with a grace leaves the old secret in the list until it is ended", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("CI")
        await person.open("/dashboard/keys", "API keys")
        await page.getByRole("button", { name: "Rotate CI" }).click()
        await dialog(page).getByLabel("Old secret stops working").selectOption("in 1 hour")
        await dialog(page).getByRole("button", { name: "Rotate key" }).click()
        await page.getByRole("button", { name: "I have saved it" }).click()
        await page.getByText("Old secret, stops working in").waitFor()
        await Dashboard.expectAccessible(page)
        await person.search(secret, "http caching")
        assert.strictEqual(await page.getByRole("button", { name: "Rotate CI" }).count(), 1)
      })
    })
  )

  it.effect("agrees with another tab, and says of a key that it was revoked elsewhere", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/404/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/keys", "API keys")
        const other = await person.context.newPage()
        await other.goto(page.url())
        await other.getByRole("button", { name: "Create key" }).first().click()
        await dialog(other).getByLabel("Name").fill("from the other tab")
        await dialog(other).getByRole("button", { name: "Create key" }).click()
        await rowOf(page, "from the other tab").waitFor()

        await Dashboard.choose(page, "More actions for from the other tab", "Revoke")
        const { json } = await person.call("GET", "/v1/api-keys")
        await person.call("DELETE", `/v1/api-keys/${json.api_keys[0].id}`)
        await page.getByLabel("Type from the other tab to confirm").fill("from the other tab")
        await dialog(page).getByRole("button", { name: "Revoke key" }).click()
        await page.getByText("already revoked").waitFor()
        await dialog(page).getByRole("button", { name: "Cancel" }).click()
        await page.getByRole("heading", { name: "No active key" }).waitFor()
      })
    })
  )

  it.effect("says which names are refused, and that the account has all its keys", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await Promise.all(Array.from({ length: 49 }, (_, index) => person.makeKey(`key ${index}`)))
        await person.open("/dashboard/keys", "API keys")
        await rowOf(page, "key 48").waitFor()
        await page.getByRole("button", { name: "Create key" }).click()
        await dialog(page).getByLabel("Name").fill("   ")
        await dialog(page).getByRole("button", { name: "Create key" }).click()
        await page.getByText("must have 1 to 100 characters").waitFor()
        await Dashboard.expectAccessible(page)
        await person.makeKey("the fiftieth")
        await dialog(page).getByLabel("Name").fill("one too many")
        await dialog(page).getByRole("button", { name: "Create key" }).click()
        await page.getByText("an account can have at most 50 active API keys").waitFor()
        await page.reload()
        await page.getByText("You have reached the limit of 50 active keys.").waitFor()
        assert.isTrue(await page.getByRole("button", { name: "Create key" }).isDisabled())
      })
    })
  )

  it.effect("fits into a window of 360 pixels", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      yield* Effect.promise(async () => {
        await person.makeKey("a name ".repeat(14).trim())
        await person.open("/dashboard/keys", "API keys")
        await page.getByRole("button", { name: "Create key" }).click()
        await dialog(page).getByLabel("Name").fill("a phone")
        await dialog(page).getByRole("button", { name: "Create key" }).click()
        await page.getByText("Copy the secret now.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "I have saved it" }).click()
        await rowOf(page, "a phone").waitFor()
        await Dashboard.expectAccessible(page)
        await Dashboard.choose(page, "More actions for a phone", "Edit limits")
        await dialog(page).getByLabel("Networks").fill("2001:db8:1234:5678::/64 203.0.113.0/24 198.51.100.0/24")
        await Dashboard.expectAccessible(page)
        await dialog(page).getByRole("button", { name: "Save limits" }).click()
        await rowOf(page, "a phone").getByText("From 3 networks").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )
})
