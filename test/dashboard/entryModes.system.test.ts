import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"

Dashboard.describeDashboard("before signing in", (it) => {
  it.effect("the reference has no violations either, and leads to the dashboard", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor({ width: 360 })
      const { origin, page } = visitor
      visitor.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        await page.goto(`${origin}/docs`)
        // The whole reference takes a minute: its parts are alike.
        await Dashboard.expectAccessible(page, "header, nav, #introduction, #getting-started, #handling-errors, #query")
        await page.getByRole("link", { name: "Dashboard", exact: true }).click()
        await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
      })
    })
  )
})

Dashboard.describeDashboard(
  "a closed sign-up",
  (it) => {
    it.effect("R65: says so, and no page leads to it", () =>
      Effect.gen(function* () {
        const visitor = yield* Dashboard.visitor()
        const { page } = visitor
        visitor.expectComplaint(/401/)
        yield* Effect.promise(async () => {
          await visitor.open("/dashboard/sign-up", "Sign-up is closed")
          await page.getByText("Ask the operator of this server for an account.").waitFor()
          assert.strictEqual(await page.locator("form").count(), 0)
          await Dashboard.expectAccessible(page)
          await page.getByRole("link", { name: "Sign in" }).click()
          await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
          assert.strictEqual(await page.getByRole("link", { name: "Create an account" }).count(), 0)
        })
      })
    )
  },
  "embedded",
  { SIGN_UP: "closed" }
)

Dashboard.describeDashboard(
  "a sign-up by invitation",
  (it) => {
    it.effect("R65: says so, and refuses an address that is not invited", () =>
      Effect.gen(function* () {
        const visitor = yield* Dashboard.visitor()
        const { email, page } = visitor
        visitor.expectComplaint(/403/)
        yield* Effect.promise(async () => {
          await visitor.open("/dashboard/sign-up", "Create an account")
          await page.getByText("Sign-up is by invitation").waitFor()
          await page.getByLabel("Email").fill(email)
          await page.getByLabel("Password").fill(Dashboard.password)
          await page.getByRole("button", { name: "Create account" }).click()
          const alert = page.getByRole("alert")
          await alert.waitFor()
          assert.include((await alert.textContent()) ?? "", "Ask the operator for an account.")
          await Dashboard.expectAccessible(page)
        })
      })
    )

    it.effect("R65: a sign-in at a provider that made no account says why", () =>
      Effect.gen(function* () {
        const visitor = yield* Dashboard.visitor()
        const { page } = visitor
        yield* Effect.promise(async () => {
          await visitor.open("/dashboard/sign-in?failed=github&error=SIGN_UP_REFUSED", "Sign in")
          await page.getByText("This email address cannot sign up here.").waitFor()
        })
      })
    )
  },
  "embedded",
  { SIGN_UP: "invite", GITHUB_CLIENT_ID: "a-client", GITHUB_CLIENT_SECRET: "a client's secret" }
)
