import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import * as Dashboard from "../support/Dashboard.ts"
import { describeConsole, openPage, operator, perform, run, withFactor } from "./operators.ts"

const pages = [
  ["", "Now"],
  ["/customers", "Customers"],
  ["/request", "One request"],
  ["/engines", "Engines"],
  ["/usage", "Who used most"],
  ["/index", "Index"],
  ["/money", "Money"],
  ["/audit", "Audit"],
  ["/settings", "Settings"]
] as const

/** A customer with a key, a search, a webhook and an invited colleague. */
const customer = Effect.gen(function* () {
  const person = yield* withFactor()
  const guest = `guest-of-${person.email}`
  const { key, search, url } = yield* Effect.promise(async () => {
    const key = await person.makeKey("production")
    const url = "http://127.0.0.1:9/hook"
    await person.call("POST", "/v1/webhooks", { url })
    await person.call("POST", "/v1/members", { email: guest, role: "viewer" })
    const response = await fetch(`${person.origin}/v1/query?query=${person.email}&target=beta_search`, {
      headers: { authorization: `Bearer ${key.secret}` }
    })
    return { key, url, search: /qry_[0-9a-f]{32}/.exec(await response.text())?.[0] ?? "" }
  })
  const { json: me } = yield* Effect.promise(() => person.call("GET", "/v1/session/account"))
  return { ...person, id: me.accounts[0].id as string, guest, key, search, url }
})

/** A replica that sends no more heartbeats. */
const silentReplica = Effect.fnUntraced(function* (id: string) {
  const { env } = yield* (yield* Dashboard.Running).live
  yield* Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      insert into replicas (id, host, address, version, started_at, seen_at, watched_ms, skew_ms, vitals)
      values (${id}, 'gone', '10.0.0.9:4000', '0.1.0', now() - interval '2 days', now() - interval '10 minutes', 0, 0, '{}')`
  ).pipe(Effect.provide(Postgres.layer({ url: Redacted.make(env.DATABASE_URL ?? ""), poolSize: 1 }), { local: true }))
})

type Tests = Parameters<typeof describeConsole>[1]

const pagesTests: Tests = (it) => {
  it.effect("shows every page without a fault that axe finds, at 1280 and 390 pixels, in light and dark", () =>
    Effect.gen(function* () {
      const { email, id, search } = yield* customer
      const me = yield* operator()
      const { page } = me
      const check = async (path: string, heading: string): Promise<void> => {
        await openPage(me, path, heading)
        await page.locator(".skeleton").first().waitFor({ state: "detached" })
        assert.strictEqual(await page.getByText("Something went wrong").count(), 0, heading)
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 900 })
          await Dashboard.expectAccessible(page)
        }
      }
      yield* Effect.promise(async () => {
        for (const [path, heading] of pages) await check(path, heading)
        await check(`/customers/${id}`, email)
        await check(`/request/${search}`, "One request")
        await page.getByText(/beta_search (?:returned|failed|did not answer)/).waitFor()
        await check("/nothing", "Not found")
      })
    })
  )

  it.effect("finds a customer, gives credits and copies the command by the keyboard alone", () =>
    Effect.gen(function* () {
      const { email, id } = yield* customer
      const me = yield* operator()
      const { page } = me
      yield* Effect.promise(async () => {
        await openPage(me, "/customers", "Customers")
        await page.getByLabel("Email, account, key or name").focus()
        await page.keyboard.type(email)
        await page.keyboard.press("Enter")
        await page.getByRole("link", { name: email, exact: true }).press("Enter")
        await page.getByRole("heading", { level: 1, name: email }).waitFor()
        await page.getByRole("button", { name: "Give credits" }).press("Enter")
        await Dashboard.expectAccessible(page)
        await page.keyboard.type("25")
        await page.keyboard.press("Tab")
        await page.keyboard.type("it's a gift")
        const command = `quarry account grant --id ${id} --credits 25 --reason 'it'\\''s a gift'`
        await page.getByRole("dialog").getByText(command).waitFor()
        await page.getByRole("dialog").getByRole("button", { name: "Copy the command" }).press("Enter")
        assert.strictEqual(await page.evaluate<string>("navigator.clipboard.readText()"), command)
        await page.getByLabel("Reason").press("Enter")
        await page.getByText("Give credits (").waitFor()
        assert.strictEqual(await page.evaluate<string>("document.activeElement.textContent"), "Give credits")
      })
    })
  )

  it.effect("shows an observer no button for an act, and lets them verify the ledger", () =>
    Effect.gen(function* () {
      const { id } = yield* customer
      const me = yield* operator("observer")
      const { page } = me
      yield* Effect.promise(async () => {
        await page.goto(`${me.origin}/dashboard/operator/customers/${id}`)
        await page.getByRole("rowheader", { name: "production" }).waitFor()
        const acts = page.getByRole("button", { name: /Give credits|Suspend|Revoke|Actions for|More actions/ })
        assert.strictEqual(await acts.count(), 0)
        await openPage(me, "/engines", "Engines")
        await page.getByRole("region", { name: "Providers" }).getByText("meta/google").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: /Pause/ }).count(), 0)
        await openPage(me, "/index", "Index")
        assert.strictEqual(await page.getByRole("button", { name: /Remove documents|^Load$/ }).count(), 0)
        await openPage(me, "/money", "Money")
        await page.getByRole("button", { name: "Verify the ledger" }).click()
        await page.getByText("All accounts match their records.").waitFor()
      })
    })
  )

  it.effect("reads Now again while its tab is visible, and not while it is hidden", () =>
    Effect.gen(function* () {
      const me = yield* operator()
      const { page } = me
      yield* Effect.promise(async () => {
        let reads = 0
        page.on("request", (request) => {
          if (request.url().includes("/v1/operator/now")) reads++
        })
        await page.clock.install()
        await openPage(me, "", "Now")
        await page.getByText("No problems").or(page.getByLabel("Problems")).first().waitFor()
        const again = page.waitForResponse("**/v1/operator/now**")
        await page.clock.runFor(16_000)
        await again
        await page.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden' })")
        const before = reads
        await page.clock.runFor(60_000)
        assert.strictEqual(reads, before)
      })
    })
  )

  it.effect("asks for the password and the second factor in place where an act needs a recent sign-in", () =>
    Effect.gen(function* () {
      const { id } = yield* customer
      const me = yield* operator()
      const { page } = me
      me.expectComplaint(/403/)
      yield* Effect.promise(async () => {
        const stale = { error: "fresh_sign_in_required", message: "Sign in again.", request_id: "r" }
        await page.goto(`${me.origin}/dashboard/operator/customers/${id}`)
        await page.route("**/v1/operator/acts", (route) => route.fulfill({ status: 403, json: stale }))
        await page.getByRole("button", { name: "Suspend" }).click()
        await page.getByLabel("Reason").fill("a test")
        await page.getByRole("dialog").getByRole("button", { name: "Suspend", exact: true }).click()
        const dialog = page.getByRole("dialog", { name: "Confirm that it is you" })
        const code = dialog.getByLabel("Code from your app, or a recovery code")
        await dialog.getByLabel("Password").fill(Dashboard.password)
        await page.keyboard.press("Enter")
        await code.waitFor()
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
        assert.strictEqual((await me.call("GET", "/v1/operator/me")).status, 200, "signed in after a cancelled code")
        await page.getByRole("dialog").getByRole("button", { name: "Suspend", exact: true }).click()
        await dialog.getByLabel("Password").fill(Dashboard.password)
        await page.unrouteAll()
        await page.keyboard.press("Enter")
        await code.fill(me.recoveryCodes[0] ?? "")
        await page.keyboard.press("Enter")
        await page.getByText("Suspend (").waitFor()
        await page.getByRole("button", { name: "Restore" }).waitFor()
      })
    })
  )
}

const actsTests: Tests = (it) => {
  it.effect("change a customer, each with its audit record by the operator's address", () =>
    Effect.gen(function* () {
      const { email, guest, id, url } = yield* customer
      const me = yield* operator()
      const { page } = me
      const menu = async (name: string, item: string, fill?: Parameters<typeof perform>[2]) => {
        await Dashboard.choose(page, name, item)
        return perform(page, item, fill)
      }
      yield* Effect.promise(async () => {
        await page.goto(`${me.origin}/dashboard/operator/customers/${id}`)
        await page.getByRole("button", { name: "Give credits" }).click()
        await perform(page, "Give credits", async (dialog) => {
          await dialog.getByLabel("Credits").fill("500")
          await dialog.getByLabel("Reason").fill("a gift")
        })
        const corrected = await menu("More actions", "Correct credits", async (dialog) => {
          await dialog.getByLabel("Credits").fill("-5")
          await dialog.getByLabel("Reason").fill("a mistake")
        })
        assert.include(corrected, "account adjust")
        await page.locator("dd", { hasText: /^495$/ }).waitFor()
        await menu("More actions", "Change plan and limits", async (dialog) => {
          await dialog.getByLabel("Plan").selectOption("growth")
          await dialog.getByLabel("Concurrency (optional)").fill("7")
        })
        await page.locator("dd", { hasText: "growth" }).waitFor()
        await page.getByRole("button", { name: "Suspend" }).click()
        await perform(page, "Suspend", (dialog) => dialog.getByLabel("Reason").fill("a chargeback"))
        await page.getByRole("button", { name: "Restore" }).click()
        await perform(page, "Restore")
        await page.getByRole("button", { name: "Revoke production" }).click()
        await perform(page, "Revoke")
        await menu(`Actions for ${guest}`, "Change role", async (dialog) => {
          await dialog.getByLabel("Role").selectOption("billing")
        })
        await menu(`Actions for ${guest}`, "Resend email")
        await menu(`Actions for ${guest}`, "Remove")
        await page.getByRole("region", { name: "Members" }).getByText(guest).waitFor({ state: "detached" })
        await menu(`Actions for ${url}`, "Pause")
        await menu(`Actions for ${url}`, "Resume")
        await menu(`Actions for ${url}`, "Drop pending deliveries")
        await menu(`Actions for ${email}`, "Reset second factors", (dialog) =>
          dialog.getByLabel("Reason").fill("lost phone")
        )
        await menu("More actions", "End all sessions")
        await menu("More actions", "Change email address", (dialog) =>
          dialog.getByLabel("New email address").fill(`new-${email}`)
        )
        await page.getByRole("heading", { level: 1, name: `new-${email}` }).waitFor()
        me.expectComplaint(/404/)
        await menu("More actions", "Delete account", (dialog) => dialog.getByLabel(`Type ${id} to confirm`).fill(id))
      })
      const { entries } = yield* run("audit", "list", "--operator", me.email)
      assert.sameMembers(
        entries.map(({ command }: { readonly command: string }) => command),
        [
          "account grant",
          "account adjust",
          "account set-plan",
          "account suspend",
          "account resume",
          "key revoke",
          "member role",
          "person resend-email",
          "member remove",
          "webhooks pause",
          "webhooks resume",
          "webhooks drop",
          "person reset-factors",
          "sessions end",
          "account set-email",
          "account delete"
        ]
      )
    })
  )

  it.effect("pause and resume an engine, search once on each, and forget a replica that went away", () =>
    Effect.gen(function* () {
      const me = yield* operator()
      const { page } = me
      const replica = `rep_${"9".repeat(32)}`
      yield* silentReplica(replica)
      yield* Effect.promise(async () => {
        await openPage(me, "/engines", "Engines")
        await page.getByRole("button", { name: "Pause meta/google" }).click()
        const line = await perform(page, "Pause", (dialog) => dialog.getByLabel("Reason").fill("maintenance"))
        assert.strictEqual(line, "quarry providers pause --provider meta --engine google --reason maintenance")
        await page.getByRole("row").filter({ hasText: "maintenance" }).getByText("paused").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Resume meta/google" }).click()
        await perform(page, "Resume")
        await page.getByRole("button", { name: "Search once on each" }).click()
        await page.getByRole("region", { name: "Results of the test search" }).waitFor()
        await Dashboard.expectAccessible(page)
        await openPage(me, "", "Now")
        await page.getByRole("button", { name: `Forget ${replica}` }).click()
        await perform(page, "Forget")
        await page.getByRole("row").filter({ hasText: replica }).waitFor({ state: "detached" })
      })
    })
  )

  it.effect("load documents with progress, name wrong lines, replace documents, and remove a page and a site", () =>
    Effect.gen(function* () {
      const me = yield* operator()
      const { page } = me
      const line = (name: string) =>
        JSON.stringify({ url: `https://docs.example.org/${name}`, title: name, description: name })
      const count = async () => {
        const { json } = await me.call("GET", "/v1/operator/index")
        return json.counts.reduce((sum: number, { documents }: { readonly documents: number }) => sum + documents, 0)
      }
      // Larger than a piece of four MiB, with a line that is not a document.
      const names = Array.from({ length: 300 }, (_, index) => `page-${index}`)
      const padding = " ".repeat(20_000)
      const buffer = Buffer.from([...names.map(line), '{"title":"no address"}'].join(`${padding}\n`))
      yield* Effect.promise(async () => {
        await openPage(me, "/index", "Index")
        await page.getByLabel("File").setInputFiles({ name: "pages.jsonl", mimeType: "application/x-ndjson", buffer })
        await page.getByLabel("Target").first().selectOption("alpha_search")
        await page.getByRole("button", { name: "Load", exact: true }).click()
        await page.getByText("Loaded 300 documents, removed 0, refused 1.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Remove documents" }).click()
        await perform(page, "Remove documents", (dialog) =>
          dialog.getByLabel("Address of one document").fill(`https://docs.example.org/${names[0]}`)
        )
        await page.getByText("1 document removed.").waitFor()
        assert.strictEqual(await count(), 299)
        me.expectComplaint(/400/)
        const two = Buffer.from(names.slice(1, 3).map(line).join("\n"))
        await page
          .getByLabel("File")
          .setInputFiles({ name: "two.jsonl", mimeType: "application/x-ndjson", buffer: two })
        await page.getByLabel("Remove the sites' other documents").check()
        await page.getByRole("button", { name: "Load", exact: true }).click()
        await page.getByText("would remove 297 of the 299 documents").waitFor()
        await page.getByLabel("Remove as many as that").check()
        await page.getByText("quarry index load two.jsonl --target alpha_search --replace --yes").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Load", exact: true }).click()
        await page.getByText("Loaded 2 documents, removed 297, refused 0.").waitFor()
        await page.getByRole("button", { name: "Remove documents" }).click()
        await perform(page, "Remove documents", (dialog) =>
          dialog.getByLabel("Or host of a site").fill("docs.example.org")
        )
        await page.getByText("2 documents removed.").waitFor()
        assert.strictEqual(await count(), 0)
      })
    })
  )
}

describeConsole("the operator's console", (it) => {
  describe("pages", () => pagesTests(it))
  describe("acts", () => actsTests(it))
})
