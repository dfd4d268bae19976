import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Route } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

const { password } = Dashboard

/** Signs the person in in a browser of its own, and opens a page there. */
const secondBrowser = Effect.fnUntraced(function* (email: string) {
  const second = yield* Dashboard.visitor()
  yield* Effect.promise(() => second.call("POST", "/api/auth/sign-in/email", { email, password }))
  return second
})

const tests: Parameters<typeof Dashboard.describeDashboard>[1] = (it) => {
  it.effect("offers to reload if the script of a page is gone, as after an upgrade", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/404/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard", "Overview")
        await page.route("**/assets/*.js", (route) => route.fulfill({ status: 404 }))
        await page.getByRole("link", { name: "Account", exact: true }).click()
        await page.getByText("This page could not be loaded").waitFor()
        await Dashboard.expectAccessible(page)
        await page.unroute("**/assets/*.js")
        await page.getByRole("button", { name: "Reload" }).click()
        await page.getByText("this browser").waitFor()
      })
    })
  )

  it.effect("lists sessions and ends another one, whose page leads to the sign-in and back", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const second = yield* secondBrowser(person.email)
      second.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        const { page } = person
        await second.open("/dashboard/log?target=beta_search", "Log")
        await person.open("/dashboard/account", "Account")
        await page.getByText("this browser").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: /^Sign out Chrome on Linux/ }).click()
        await page.getByText("Signed out Chrome on Linux.").waitFor()
        assert.lengthOf((await person.call("GET", "/v1/sessions")).json.sessions, 1)
        // The other browser finds out with its next request.
        await second.page.getByRole("link", { name: "Account", exact: true }).click()
        const dialog = second.page.getByRole("dialog")
        await dialog.getByRole("heading", { name: "Your session has ended" }).waitFor()
        await dialog.getByText(person.email).waitFor()
        await dialog.getByLabel("Password").fill(password)
        await second.page.keyboard.press("Enter")
        await dialog.waitFor({ state: "detached" })
        await second.page.waitForURL(`${person.origin}/dashboard/account`)
        await second.page.getByText(person.email).first().waitFor()
      })
    })
  )

  it.effect("changes the password, and says which of the two is wrong", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/account", "Account")
        const change = async (current: string, next: string) => {
          await page.getByLabel("Current password").fill(current)
          await page.getByLabel("New password").fill(next)
          await page.getByRole("button", { name: "Change password" }).click()
        }
        await change("not the password", "another horse battery")
        await page.getByText("This is not the password.").waitFor()
        await Dashboard.expectAccessible(page)
        await change(password, "password1234")
        await page.getByText(/most common passwords/).waitFor()
        await change(password, "another horse battery")
        await page.getByText("Password changed.").waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).status, 200)
      })
    })
  )

  it.effect("exports the account as a file", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      yield* Effect.promise(async () => {
        await person.open("/dashboard/account", "Account")
        const download = person.page.waitForEvent("download")
        await person.page.getByRole("link", { name: "Export" }).click()
        assert.strictEqual((await download).suggestedFilename(), "quarry-account.json")
      })
    })
  )

  it.effect("deletes the account by the keyboard alone, once its name is typed", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/account", "Account")
        await page.getByText(person.email).first().waitFor()
        await page.getByRole("button", { name: "Delete account" }).focus()
        await page.keyboard.press("Enter")
        const dialog = page.getByRole("dialog", { name: "Delete your account?" })
        await dialog.waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "hidden" })
        await page.locator("button:focus", { hasText: "Delete account" }).waitFor()
        await page.keyboard.press("Enter")
        const confirmation = page.getByLabel(`Type ${person.email} to confirm`)
        await confirmation.focus()
        await page.keyboard.type("somebody@example.com")
        assert.isTrue(await dialog.getByRole("button", { name: "Delete account" }).isDisabled())
        await confirmation.fill("")
        await page.keyboard.type(person.email)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).status, 401)
      })
    })
  )

  it.effect("asks for the password in place where an action needs a fresh sign-in, and then does it", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/40[13]/)
      yield* Effect.promise(async () => {
        // The server's answer to a session that is older than ten minutes.
        const stale = { error: "fresh_sign_in_required", message: "Sign in again.", request_id: "r" }
        const answer = (route: Route) => route.fulfill({ status: 403, json: stale })
        await page.route("**/v1/account", answer)
        await person.open("/dashboard/account", "Account")
        await page.getByRole("button", { name: "Delete account" }).click()
        await page.getByLabel(`Type ${person.email} to confirm`).fill(person.email)
        await page.keyboard.press("Enter")
        const dialog = page.getByRole("dialog", { name: "Confirm that it is you" })
        await dialog.waitFor()
        await Dashboard.expectAccessible(page)
        await page.keyboard.press("Escape")
        await page.getByText("Sign in again.").waitFor()
        await page.getByRole("dialog").getByRole("button", { name: "Delete account" }).click()
        await dialog.getByText(person.email).waitFor()
        await page.unroute("**/v1/account", answer)
        await dialog.getByLabel("Password").fill(password)
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).status, 401)
      })
    })
  )

  it.effect("two tabs agree: a sign-out in one is one in both", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      person.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        const other = await person.context.newPage()
        await other.goto(`${person.origin}/dashboard/usage`)
        await other.getByRole("heading", { level: 1, name: "Usage" }).waitFor()
        await person.open("/dashboard/account", "Account")
        await person.page.getByRole("button", { name: "Sign out", exact: true }).click()
        await person.page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
        await other.waitForURL(/\/dashboard\/sign-in\?next=%2Fdashboard%2Fusage$/)
        await other.getByLabel("Email").fill(person.email)
        await other.getByLabel("Password").fill(password)
        await other.getByRole("button", { name: "Sign in", exact: true }).click()
        await other.waitForURL(`${person.origin}/dashboard/usage`)
        await person.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
      })
    })
  )

  it.effect(
    "two tabs agree: a sign-in keeps the other's draft for the same person, and shows another person's page",
    () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        const colleague = yield* Dashboard.signedIn()
        const { page } = person
        yield* Effect.promise(async () => {
          await person.open("/dashboard/account", "Account")
          await page.getByLabel("Current password").fill("a draft")
          const other = await person.context.newPage()
          const signIn = async (email: string) => {
            await other.goto(`${person.origin}/dashboard/sign-in`)
            await other.getByLabel("Email").fill(email)
            await other.getByLabel("Password").fill(password)
            const read = page.waitForResponse(/\/v1\/me$/)
            await other.getByRole("button", { name: "Sign in", exact: true }).click()
            await read
          }
          await signIn(person.email)
          assert.strictEqual(await page.getByLabel("Current password").inputValue(), "a draft")
          await signIn(colleague.email)
          await page.locator("main").getByText(colleague.email).first().waitFor()
          assert.strictEqual(await page.getByLabel("Current password").inputValue(), "")
        })
      })
  )

  it.effect("keeps nothing in the browser but the cookie, which no script reads", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      yield* Effect.promise(async () => {
        await person.open("/dashboard/account", "Account")
        const kept = await person.page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert.deepStrictEqual(kept, [0, 0, ""])
      })
    })
  )
}

Dashboard.describeDashboard("the account page", tests)
