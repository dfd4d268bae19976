import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describeWithChromium } from "../support/processes/Chromium.ts"
import * as OidcProvider from "../support/servers/OidcProvider.ts"
import * as Dashboard from "./support/Dashboard.ts"

/** A service where everybody signs in at a provider, and somebody who opens its dashboard. */
const signingIn = Effect.gen(function* () {
  const provider = yield* OidcProvider.make
  const running = yield* Dashboard.start("embedded", {
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: OidcProvider.oidcClient.clientId,
    OIDC_CLIENT_SECRET: Redacted.value(OidcProvider.oidcClient.clientSecret),
    OIDC_NAME: "Example SSO",
    OIDC_ONLY: "true"
  })
  const visitor = yield* Dashboard.visitor({ width: 360 }).pipe(
    Effect.provideService(Dashboard.Running, { live: Effect.succeed(running) })
  )
  return { provider, visitor }
})

describeWithChromium("R66: signing in at an OpenID provider", () => {
  it.live(
    "needs one button on every page, which leads back to the page that the person wanted, and there is no password",
    () =>
      Effect.gen(function* () {
        const { provider, visitor } = yield* signingIn
        const { email, page } = visitor
        visitor.expectComplaint(/401/)
        const button = page.getByRole("button", { name: "Continue with Example SSO" })
        yield* Effect.promise(async () => {
          for (const [path, heading] of [
            ["sign-up", "Create an account"],
            ["forgot-password", "Sign in"],
            ["sign-in?failed=oidc&error=unable_to_link_account", "Sign in"]
          ] as const) {
            await visitor.open(`/dashboard/${path}`, heading)
            await button.waitFor()
            assert.strictEqual(await page.locator("input:not([type=hidden])").count(), 0)
          }
          await page.getByText("Its account does not belong to this sign-in.").waitFor()
          await Dashboard.expectAccessible(page)
        })
        provider.serve(visitor.origin)
        provider.people.set("ada", { email, email_verified: true })
        yield* Effect.promise(async () => {
          await visitor.open("/dashboard/sign-in?next=%2Fdashboard%2Faccount", "Sign in")
          await button.focus()
          await page.keyboard.press("Enter")
          await page.getByRole("heading", { level: 1, name: "Account" }).waitFor()
          assert.strictEqual((await visitor.call("GET", "/v1/me")).json.email, email)
          await page.getByRole("heading", { name: "Sessions" }).waitFor()
          assert.strictEqual(await page.getByLabel("Current password").count(), 0)
          await Dashboard.expectAccessible(page)
        })
      }),
    240_000
  )
})
