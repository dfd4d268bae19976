import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { codeOf } from "../support/accounts/totp.ts"
import * as Dashboard from "./support/Dashboard.ts"

/** Gives the page a device with passkeys, and returns how to let its person fail the fingerprint. */
const addDevice = async (page: Page) => {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("WebAuthn.enable")
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true
    }
  })
  return (isUserVerified: boolean) => devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified })
}

/** Sets up an app by the keyboard, in the dialog that the button opens. Returns its address for codes. */
const setUpApp = async (page: Page): Promise<string> => {
  await page.getByRole("button", { name: "Set up an authenticator app" }).press("Enter")
  const dialog = page.getByRole("dialog", { name: "Set up an authenticator app" })
  await dialog.getByRole("img", { name: "QR code of the secret" }).waitFor()
  await Dashboard.expectAccessible(page)
  const secret = (await dialog.locator("code").textContent()) ?? ""
  const uri = `otpauth://totp/Quarry?secret=${secret.replaceAll(" ", "")}`
  const field = dialog.getByLabel("Code from the app")
  assert.strictEqual(await field.getAttribute("autocomplete"), "one-time-code")
  await field.fill("000000")
  await page.keyboard.press("Enter")
  await dialog.getByRole("alert").waitFor()
  await field.fill(codeOf(uri))
  await page.keyboard.press("Enter")
  return uri
}

const saveCodes = async (page: Page): Promise<ReadonlyArray<string>> => {
  const dialog = page.getByRole("dialog", { name: "Save your recovery codes" })
  await dialog.waitFor()
  await Dashboard.expectAccessible(page)
  const codes = ((await dialog.locator("pre").textContent()) ?? "").trim().split("\n")
  await dialog.getByRole("button", { name: "I have saved them" }).press("Enter")
  return codes
}

const signOut = async (page: Page): Promise<void> => {
  await page.getByRole("button", { name: "Sign out", exact: true }).click()
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
}

const givePassword = async (page: Page, email: string): Promise<void> => {
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(Dashboard.password)
  await page.keyboard.press("Enter")
}

Dashboard.describeDashboard("second factors", (it) => {
  it.effect("R66: an authenticator app is set up by the keyboard, and asked for at the next sign-in", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/40[01]/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/account", "Account")
        const uri = await setUpApp(page)
        assert.lengthOf(await saveCodes(page), 10)
        await page.getByRole("button", { name: "Remove authenticator app" }).waitFor()
        await signOut(page)
        await page.goto(`${person.origin}/dashboard/sign-in?next=/dashboard/keys`)
        await givePassword(page, person.email)
        await page.getByRole("heading", { level: 1, name: "Confirm your sign-in" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Code").fill("000000")
        await page.keyboard.press("Enter")
        assert.strictEqual(await page.getByRole("alert").first().textContent(), "The code is wrong or was used before.")
        await page.getByLabel("Code").fill(codeOf(uri, 1))
        await page.keyboard.press("Enter")
        await page.waitForURL(`${person.origin}/dashboard/keys`)
      })
    })
  )

  it.effect("R66: a passkey alone signs in, if the device verifies the person, until it is removed", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      person.expectComplaint(/40[01]/)
      yield* Effect.promise(async () => {
        const verify = await addDevice(page)
        await person.open("/dashboard/account", "Account")
        await page.getByRole("button", { name: "Add a passkey" }).click()
        await page.getByRole("button", { name: "Remove passkey" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.context().clearCookies()
        await person.open("/dashboard/sign-in", "Sign in")
        await Dashboard.expectAccessible(page)
        await verify(false)
        await page.getByRole("button", { name: "Sign in with a passkey" }).click()
        await page.getByRole("alert").waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).status, 401)
        await verify(true)
        await page.getByRole("button", { name: "Sign in with a passkey" }).click()
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await page.context().clearCookies()
        await person.open("/dashboard/sign-in", "Sign in")
        await givePassword(page, person.email)
        await page.getByRole("heading", { level: 1, name: "Confirm your sign-in" }).waitFor()
        await page.getByRole("button", { name: "Sign in with a passkey" }).click()
        await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
        await person.open("/dashboard/account", "Account")
        await page.getByRole("button", { name: "Remove passkey" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Remove passkey" }).click()
        await page.getByRole("region", { name: "Passkeys" }).waitFor({ state: "detached" })
      })
    })
  )
})

Dashboard.describeDashboard(
  "required second factors",
  (it) => {
    it.effect("R66: a person sets one up before anything else, and continues where they were", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        const { page } = person
        person.expectComplaint(/40[013]/)
        yield* Effect.promise(async () => {
          assert.strictEqual((await person.call("GET", "/v1/me")).status, 403)
          await person.open("/dashboard/usage", "Set up a second factor")
          await Dashboard.expectAccessible(page)
          await setUpApp(page)
          await saveCodes(page)
          await page.waitForURL(`${person.origin}/dashboard/usage`)
          await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor()
        })
      })
    )
  },
  "embedded",
  { REQUIRE_SECOND_FACTOR: "true" }
)
