import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Route } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"

const { password } = Dashboard

/** Opens the invitation that the service would have emailed to the visitor, joins, and chooses a password. */
const joinAs = Effect.fnUntraced(function* (visitor: Dashboard.Person) {
  const { process } = yield* (yield* Dashboard.Running).live
  const emailed = new RegExp(`email to ${visitor.email} was not sent.*?(http[^\\s"]+/oauth/join\\?token=[\\w-]+).*\\n`)
  const link = emailed.exec(yield* process.said(emailed))?.[1] ?? assert.fail("no invitation")
  yield* Effect.promise(async () => {
    const { page } = visitor
    await page.goto(link)
    await page.getByRole("button", { name: "Join" }).click()
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Save password" }).click()
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  })
})

/** An owner, and a person who has joined the owner's account. */
const aTeam = Effect.fnUntraced(function* (role: string, options?: Dashboard.VisitOptions) {
  const owner = yield* Dashboard.signedIn()
  const guest = yield* Dashboard.visitor(options)
  guest.expectComplaint(/40[13]/)
  const invited = yield* Effect.promise(() => owner.call("POST", "/v1/members", { email: guest.email, role }))
  assert.strictEqual(invited.status, 201)
  yield* joinAs(guest)
  return { owner, guest, memberId: invited.json.id as string }
})

const pagesOf = ({ page }: Dashboard.Person) =>
  page.getByRole("navigation", { name: "Dashboard" }).getByRole("link").allInnerTexts()

/** Waits until the role is known, which hides this page. Until then, all pages are shown. */
const withoutPage = ({ page }: Dashboard.Person, name: string) =>
  page
    .getByRole("navigation", { name: "Dashboard" })
    .getByRole("link", { name, exact: true })
    .waitFor({ state: "detached" })

const tests: Parameters<typeof Dashboard.describeDashboard>[1] = (it) => {
  it.effect("R67: an owner invites a person, limits them, and cancels the invitation, by keyboard", () =>
    Effect.gen(function* () {
      const owner = yield* Dashboard.signedIn({ width: 360 })
      const { page } = owner
      owner.expectComplaint(/40[039]/)
      const email = `invited-by-${owner.email}`
      const row = page.getByRole("row").filter({ hasText: email })
      const dialog = page.getByRole("dialog")
      yield* Effect.promise(async () => {
        await owner.open("/dashboard/members", "Members")
        await page.getByText("You", { exact: true }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Invite a person" }).press("Enter")
        await Dashboard.expectAccessible(page)
        await page.keyboard.type(owner.email)
        await page.keyboard.press("Enter")
        await page.getByText("This address is a member already.").waitFor()
        await dialog.getByLabel("Email address").fill(email)
        await dialog.getByLabel("Role").selectOption("viewer")
        await dialog.getByLabel("Email address").press("Enter")
        await page.getByText(`Invited ${email}.`).waitFor()
        await row.getByText("invited", { exact: true }).waitFor()
        await row.getByRole("button", { name: `Resend the invitation to ${email}` }).click()
        await page.getByText(`Sent the invitation to ${email} again.`).waitFor()
        await Dashboard.choose(page, `Actions for ${email}`, "Change role")
        await dialog.getByLabel("Role").selectOption("developer")
        await dialog.getByRole("button", { name: "Change role" }).click()
        await row.getByText("developer").waitFor()
        await Dashboard.choose(page, `Actions for ${email}`, "Edit limits")
        await Dashboard.expectAccessible(page)
        await dialog.getByLabel("Budget in credits each month (UTC)").fill("100")
        await dialog.getByRole("checkbox", { name: /beta_search/ }).press("Space")
        await dialog.getByRole("button", { name: "Save limits" }).press("Enter")
        await row.getByText("0 of 100 this month").waitFor()
        await row.getByText("beta_search").waitFor()
        await Dashboard.expectAccessible(page)
        await Dashboard.choose(page, `Actions for ${email}`, "Cancel invitation")
        await dialog.getByRole("button", { name: "Cancel invitation" }).click()
        await row.waitFor({ state: "detached" })
        await Dashboard.choose(page, `Actions for ${owner.email}`, "Leave account")
        await dialog.getByRole("button", { name: "Leave account" }).click()
        await page.getByText("The account must keep an owner.").waitFor()
      })
    })
  )

  it.effect("R66, R67: removing a member asks for the password in place, and ends what the member has open", () =>
    Effect.gen(function* () {
      const { guest, memberId, owner } = yield* aTeam("developer")
      owner.expectComplaint(/403/)
      yield* Effect.promise(async () => {
        const { page } = owner
        const stale = { error: "fresh_sign_in_required", message: "Sign in again.", request_id: "r" }
        const answer = (route: Route) => route.fulfill({ status: 403, json: stale })
        await page.route(`**/v1/members/${memberId}`, answer)
        await owner.open("/dashboard/members", "Members")
        await Dashboard.choose(page, `Actions for ${guest.email}`, "Remove")
        await page.getByRole("dialog").getByRole("button", { name: "Remove member" }).click()
        const dialog = page.getByRole("dialog", { name: "Confirm that it is you" })
        await dialog.getByLabel("Password").fill(password)
        await page.unroute(`**/v1/members/${memberId}`, answer)
        await page.keyboard.press("Enter")
        await page.getByText(`Removed ${guest.email}.`).waitFor()
        await guest.page.getByRole("link", { name: "Usage", exact: true }).click()
        await guest.page.getByRole("heading", { name: "Your session has ended" }).waitFor()
      })
    })
  )

  it.effect("R67: each role sees its own pages and buttons, and reads who may see the others", () =>
    Effect.gen(function* () {
      const { guest, memberId, owner } = yield* aTeam("viewer")
      yield* Effect.promise(async () => {
        const { page } = guest
        await owner.makeKey("production")
        const shared = ["Overview", "Usage", "Connected apps", "Account", "API reference"]
        assert.sameMembers(await pagesOf(guest), [...shared, "Log", "API keys"])
        await guest.open("/dashboard/keys", "API keys")
        await page.getByText("production").waitFor()
        await page.getByText(`by ${owner.email}`).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: /Create key|Rotate/ }).count(), 0)
        await guest.open("/dashboard/webhooks", "Not available to your role")
        await page.getByText("This page is for members with the role owner or developer").waitFor()
        await page.getByText("Your role in this account is viewer.").waitFor()
        await Dashboard.expectAccessible(page)
        await guest.open("/dashboard/account", "Account")
        await page.getByRole("button", { name: "Leave account" }).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "Delete account" }).count(), 0)
        await Dashboard.expectAccessible(page)
        await owner.call("PATCH", `/v1/members/${memberId}`, { role: "billing" })
        await guest.open("/dashboard/usage", "Usage")
        await withoutPage(guest, "Log")
        assert.sameMembers(await pagesOf(guest), [...shared, "Billing"])
        await guest.open("/dashboard", "Overview")
        await page.getByText("Searches today (UTC)").waitFor()
        assert.strictEqual(await page.getByText("Something went wrong").count(), 0)
        await Dashboard.expectAccessible(page)
        await owner.call("PATCH", `/v1/members/${memberId}`, { role: "developer" })
        await guest.open("/dashboard/keys", "API keys")
        await page.getByRole("button", { name: "Create key" }).first().waitFor()
        await withoutPage(guest, "Billing")
        assert.sameMembers(await pagesOf(guest), [...shared, "Playground", "Log", "API keys", "Webhooks"])
        await guest.open("/dashboard/members", "Not available to your role")
      })
    })
  )

  it.effect("R67: a person with two accounts switches between them, and leaves one", () =>
    Effect.gen(function* () {
      const owner = yield* Dashboard.signedIn()
      const guest = yield* Dashboard.signedIn()
      // Pages do not wait for the role before they ask for their data.
      guest.expectComplaint(/40[13]/)
      yield* Effect.promise(() => owner.call("POST", "/v1/members", { email: guest.email, role: "viewer" }))
      yield* joinAs(guest)
      yield* Effect.promise(async () => {
        const { page } = guest
        const switcher = page.getByLabel("Account", { exact: true })
        const switchTo = async (email: string) => {
          const id = await switcher.getByRole("option", { name: email }).getAttribute("value")
          const loaded = page.waitForEvent("load")
          await switcher.selectOption(id ?? assert.fail(`no account ${email}`))
          await loaded
        }
        await Dashboard.expectAccessible(page)
        await switchTo(guest.email)
        await page.getByRole("link", { name: "Members", exact: true }).waitFor()
        assert.strictEqual((await guest.call("GET", "/v1/me")).json.email, guest.email)
        await switchTo(owner.email)
        await page.getByRole("link", { name: "Members", exact: true }).waitFor({ state: "detached" })
        assert.strictEqual((await guest.call("GET", "/v1/me")).json.email, owner.email)
        await guest.open("/dashboard/account", "Account")
        await page.getByRole("button", { name: "Leave account" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Leave account" }).click()
        await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
      })
    })
  )
}

Dashboard.describeDashboard("members", tests)
