import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "./support/Dashboard.ts"

Dashboard.describeDashboard("signing in", (it) => {
  it.effect("leads from a deep link to the sign-in page and back", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { email, origin, page } = visitor
      visitor.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        await visitor.call("POST", "/api/auth/sign-up/email", { email, password: Dashboard.password, name: "A" })
        await visitor.context.clearCookies()
        await visitor.open("/dashboard/log?target=beta_search", "Sign in")
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Email").fill(email)
        await page.getByLabel("Password").fill("not the password")
        await page.getByRole("button", { name: "Sign in", exact: true }).click()
        assert.strictEqual(await page.getByRole("alert").textContent(), "The email address or password is incorrect.")
        await page.getByLabel("Password").fill(Dashboard.password)
        await page.getByRole("button", { name: "Sign in", exact: true }).click()
        await page.waitForURL(`${origin}/dashboard/log?target=beta_search`)
      })
    })
  )

  it.effect("a sign-up opens the dashboard, and says what is wrong with a password", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor({ width: 360 })
      const { email, page } = visitor
      visitor.expectComplaint(/40[01]/)
      yield* Effect.promise(async () => {
        await visitor.open("/dashboard/sign-in", "Sign in")
        await page.getByRole("link", { name: "Create an account" }).click()
        await page.getByRole("heading", { level: 1, name: "Create an account" }).waitFor()
        await page.getByLabel("Email").fill(email)
        await page.getByLabel("Password").fill("password1234")
        await page.getByRole("button", { name: "Create account" }).click()
        await page.getByText(/The password is one of the most common/).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Password").fill(Dashboard.password)
        await page.getByRole("button", { name: "Create account" }).click()
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
      })
    })
  )

  it.effect("a sign-up with a known address, and one without a valid one, say so", () =>
    Effect.gen(function* () {
      const known = yield* Dashboard.signedIn()
      const visitor = yield* Dashboard.visitor()
      const { page } = visitor
      visitor.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await visitor.open("/dashboard/sign-up", "Create an account")
        for (const [address, words] of [
          [known.email, "The address already has an account."],
          ["somebody@localhost", "The address must be an email address."]
        ] as const) {
          await page.getByLabel("Email").fill(address)
          await page.getByLabel("Password").fill(Dashboard.password)
          await page.getByRole("button", { name: "Create account" }).click()
          await page.getByText(words).waitFor()
        }
      })
    })
  )

  it.effect("R65: a sign-up beyond the limit of its network says when to try again", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { email, origin, page } = visitor
      visitor.expectComplaint(/429/)
      yield* Effect.promise(async () => {
        for (let n = 0; n < 20; n++) {
          const { status } = await fetch(`${origin}/api/auth/sign-up/email`, {
            method: "POST",
            headers: { origin, "content-type": "application/json", "x-forwarded-for": `2001:db8:9:${n}::1` },
            body: JSON.stringify({ email: `neighbor${n}@example.com`, password: Dashboard.password, name: "A" })
          })
          assert.strictEqual(status, 200)
        }
        await visitor.context.setExtraHTTPHeaders({ "x-forwarded-for": "2001:db8:9:100::1" })
        await visitor.open("/dashboard/sign-up", "Create an account")
        await page.getByLabel("Email").fill(email)
        await page.getByLabel("Password").fill(Dashboard.password)
        await page.getByRole("button", { name: "Create account" }).click()
        await page.getByText("Too many sign-ups came from your network today. Try again in 24 hours.").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("without a mail server a forgotten password leads to the operator, whose link sets a new one", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const visitor = yield* Dashboard.visitor()
      const { process } = yield* (yield* Dashboard.Running).live
      const { page } = visitor
      // The link that is opened a second time.
      visitor.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await visitor.open("/dashboard/forgot-password", "Forgot your password?")
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Email").fill(person.email)
        await page.getByRole("button", { name: "Send link" }).click()
        await page.getByRole("heading", { name: "Ask the operator for the link" }).waitFor()
        await page.getByText(person.email).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Send another link" }).click()
        await page.getByText("There is another link now.").waitFor()
      })
      const emailed = new RegExp(
        `email to ${person.email} was not sent.*?(http[^\\s"]+/oauth/confirm\\?callbackURL[^\\s"]*token=\\w+).*\\n`
      )
      const link = emailed.exec(yield* process.said(emailed))?.[1] ?? ""
      yield* Effect.promise(async () => {
        await page.goto(link)
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Password").fill("another horse battery")
        await page.getByRole("button", { name: "Save password" }).click()
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await page.goto(link)
        await page.getByRole("heading", { name: "This link has expired" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "Get a new link" }).click()
        await page.getByRole("heading", { level: 1, name: "Forgot your password?" }).waitFor()
      })
    })
  )

  it.effect("works without scripts, and has the theme that the person chose with them", () =>
    Effect.gen(function* () {
      const { email, origin, page, ...person } = yield* Dashboard.signedIn()
      const { browser } = yield* (yield* Dashboard.Running).live
      const bare = yield* Effect.acquireRelease(
        Effect.promise(() => browser.newContext({ javaScriptEnabled: false })),
        (context) => Effect.promise(() => context.close())
      )
      yield* Effect.promise(async () => {
        const plain = await bare.newPage()
        await plain.goto(`${origin}/dashboard/usage`)
        assert.isFalse(await plain.getByRole("button", { name: "Sign in with a passkey" }).isVisible())
        await plain.getByLabel("Email").fill(email)
        await plain.getByLabel("Password").fill(Dashboard.password)
        await plain.getByRole("button", { name: "Sign in", exact: true }).click()
        await plain.waitForURL(`${origin}/dashboard/usage`)
        await plain.getByRole("heading", { name: "The dashboard needs JavaScript" }).waitFor()

        await person.open("/dashboard", "Overview")
        await page.getByRole("radio", { name: "Dark" }).check({ force: true })
        await person.open("/dashboard/sign-in", "Sign in")
        const background = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
        assert.strictEqual(background, "rgb(19, 18, 17)")
      })
    })
  )

  it.effect("an address of another site is not a page to return to", () =>
    Effect.gen(function* () {
      const visitor = yield* Dashboard.visitor()
      const { email, origin, page } = visitor
      visitor.expectComplaint(/401/)
      yield* Effect.promise(async () => {
        await visitor.call("POST", "/api/auth/sign-up/email", { email, password: Dashboard.password, name: "A" })
        await visitor.context.clearCookies()
        for (const next of ["https://evil.example/dashboard", "//evil.example/dashboard", "javascript:alert(1)"]) {
          await visitor.open(`/dashboard/sign-in?${new URLSearchParams({ next })}`, "Sign in")
          await page.getByLabel("Email").fill(email)
          await page.getByLabel("Password").fill(Dashboard.password)
          await page.getByRole("button", { name: "Sign in", exact: true }).click()
          await page.waitForURL(`${origin}/dashboard`)
          await visitor.context.clearCookies()
        }
      })
    })
  )
})
