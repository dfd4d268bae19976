import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "./support/Dashboard.ts"
import { describePlayground } from "./support/Playground.ts"

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
const text = async (page: Page, selector: string): Promise<string> => (await page.locator(selector).innerText()) ?? ""

/** The client of this repository in place of the published one. */
const client = JSON.stringify(new URL("../../clients/typescript/src/index.ts", import.meta.url).href)
const runnable = (code: string): string => code.replace('"@quarry/client"', client)

const search = async (page: Page, query: string): Promise<void> => {
  await page.getByLabel("Query").fill(query)
  await button(page, "Search").click()
}

/** Spends credits of the trial with the session, as the page does. */
const spend = async (person: Dashboard.Person, count: number): Promise<void> => {
  const queries = Array.from({ length: count }, (_, n) => `spent ${n}`)
  const { json } = await person.call("POST", "/v1/bulk", { queries })
  assert.strictEqual(json.total, count)
}

describePlayground("the playground", (it) => {
  it.effect("searches, shows results, JSON, headers and figures, and keeps all of it in the address", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground", "Playground")
        await page.getByText("No search yet").waitFor()
        await page.getByText("You have 100.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Target", { exact: true }).selectOption("beta_search")
        await search(page, "http caching")
        // R12: text of a provider is text, and each result has the direction of its script.
        await page.getByRole("link", { name: "HTTP caching explained" }).waitFor()
        assert.strictEqual(
          await page
            .locator(".results h3")
            .nth(1)
            .evaluate((heading) => heading.matches(":dir(rtl)")),
          true
        )
        assert.include(page.url(), "target=beta_search")
        assert.include(page.url(), "query=http+caching")
        const facts = await text(page, ".facts")
        assert.match(facts, /Credits used\s+1\s+Credits left\s+99/)
        assert.match(facts, /Request id\s+[0-9a-f-]{36}\s+Trace id\s+[0-9a-f]{32}/)
        await page.getByText("You have 99.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("JSON").check()
        assert.strictEqual(JSON.parse(await text(page, ".beside .card:first-child pre")).target, "beta_search")
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Headers").check()
        await page.getByRole("row", { name: /x-credits-used\s+1/ }).waitFor()
        await Dashboard.expectAccessible(page)
        assert.include(page.url(), "view=headers")
      })
    })
  )

  it.effect("opens a shared address filled in, and spends nothing until somebody searches", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        const address = "/dashboard/playground?query=shared&target=gamma_search&num=7&geo=de&code=python"
        await person.open(address, "Playground")
        assert.strictEqual(await page.getByLabel("Query").inputValue(), "shared")
        assert.strictEqual(await page.getByLabel("Country").inputValue(), "de")
        assert.strictEqual(await page.getByLabel("Results", { exact: true }).first().inputValue(), "7")
        await page.getByText("Default: de-de.").waitFor()
        // R7: fields that a target does not serve are off, with the reason.
        assert.isTrue(await page.getByLabel("Page", { exact: true }).isDisabled())
        await page.getByText("gamma_search returns only page 1.").waitFor()
        await page.getByText("gamma_search returns at most 10.").waitFor()
        assert.isTrue(await page.getByLabel("Safe search").isDisabled())
        assert.include(await text(page, ".code"), "quarry.Client")
        await Dashboard.expectAccessible(page)
        assert.strictEqual((await person.call("GET", "/v1/me")).json.credits_available, 100)
      })
    })
  )

  it.effect("goes back to the answer of an earlier search without paying for it again", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground", "Playground")
        await search(page, "first")
        await page.locator(".results").waitFor()
        await search(page, "nothing here")
        await page.getByText("No results").waitFor()
        await Dashboard.expectAccessible(page)
        await page.goBack()
        await page.locator(".results").waitFor()
        assert.strictEqual(await page.getByLabel("Query").inputValue(), "first")
        await page.goForward()
        await page.getByText("No results").waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).json.credits_available, 98)
      })
    })
  )

  it.effect("runs a batch from lines, and shows each row's end", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?mode=bulk", "Playground")
        await page.getByLabel("Searches, one per line").fill(`one\n\n  two  \n${"long ".repeat(90)}\n`)
        await page.getByText("3 of 50").waitFor()
        await page.getByText("Batches return page 1.").waitFor()
        await button(page, "Run batch").click()
        await page.getByText("2 of 3 succeeded.").waitFor()
        await page.getByText("two", { exact: true }).click()
        await page.getByRole("link", { name: "HTTP caching explained" }).waitFor()
        await page.getByText("invalid", { exact: true }).click()
        await page.getByText(/1 to 400 characters/).waitFor()
        await Dashboard.expectAccessible(page)
        assert.match(await text(page, ".facts"), /Credits used\s+2/)
        await page.getByLabel("Searches, one per line").fill(Array.from({ length: 51 }, (_, n) => `${n}`).join("\n"))
        await page.getByText("A batch can have at most 50 searches.").waitFor()
        person.expectComplaint(/400/)
        await button(page, "Run batch").click()
        await page.getByText("Invalid request").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("says beside its field what is wrong, and that it cost nothing", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/400/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?locale=english", "Playground")
        await button(page, "Search").click()
        await page.getByText("Invalid request").waitFor()
        for (const label of ["Query", "Locale"]) {
          assert.strictEqual(await page.getByLabel(label).getAttribute("aria-invalid"), "true", label)
        }
        await Dashboard.expectAccessible(page)
        await person.open("/dashboard/playground?query=a&geo=xx", "Playground")
        await button(page, "Search").click()
        await page.getByText("This country is not supported").waitFor()
        await person.open("/dashboard/playground?query=a&target=gamma_search&page=3", "Playground")
        await button(page, "Search").click()
        await page.getByText("Not supported by this target").waitFor()
        await page.getByText("gamma_search accepts only page 1.").waitFor()
        assert.strictEqual((await person.call("GET", "/v1/me")).json.credits_available, 100)
      })
    })
  )

  it.effect("says what a search that failed cost, and searches again", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/50[24]/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?target=zeta_search", "Playground")
        await search(page, "slow")
        await page.getByText(/Searching for 1 s/).waitFor()
        await page.getByText("The search took too long").waitFor()
        await page.getByText("It cost 1 credit.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Target", { exact: true }).selectOption("epsilon_search")
        await search(page, "broken")
        await page.getByText("The search failed").waitFor()
        // I4: nobody serves this target, so that nothing is dispatched or charged.
        await page.getByLabel("Target", { exact: true }).selectOption("delta_search")
        await search(page, "unserved")
        await page.getByText("It cost nothing.").waitFor()
        await person.open("/dashboard/log?status=upstream_error", "Log")
        await page.getByRole("link", { name: "broken" }).click()
        await page.getByText("failing/google could not be reached").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("stops waiting for a search, and says that it may cost its credit", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?target=zeta_search", "Playground")
        await search(page, "cancelled")
        await button(page, "Cancel").click()
        await page.getByText("You stopped waiting").waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("shows the figures of an account without credits, and of a batch that is larger than what is left", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/402/)
      yield* Effect.promise(async () => {
        await spend(person, 49)
        await spend(person, 49)
        await person.open("/dashboard/playground?mode=bulk&queries=a%0Ab%0Ac", "Playground")
        await button(page, "Run batch").click()
        await page.getByText("No credits left").waitFor()
        await page.getByText("You have 2 of 100 quota credits").waitFor()
        await page.getByText("Reduce it from 3 to 2 searches.").waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("link", { name: "Get more credits" }).click()
        await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor()
      })
    })
  )

  it.effect("R27: counts down to the next try after too many requests", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      person.expectComplaint(/429/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?query=often", "Playground")
        // Not by the browser's own requests, of which it holds back all but a few dozen for five seconds.
        const cookie = (await person.context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ")
        const me = () => fetch(`${person.origin}/v1/me`, { headers: { cookie } }).then((response) => response.text())
        await Promise.all(Array.from({ length: 125 }, me))
        await button(page, "Search").click()
        await page.getByText("Too many requests").waitFor()
        await page.getByRole("button", { name: /^Try again in \d+ seconds?$/ }).waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("says that there is no connection, and leads a session that was ended to sign in and back", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { context, origin, page } = person
      person.expectComplaint(/ERR_INTERNET_DISCONNECTED|401/)
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?query=offline", "Playground")
        await context.setOffline(true)
        await button(page, "Search").click()
        await page.getByText("You seem to be offline").waitFor()
        await Dashboard.expectAccessible(page)
        await context.setOffline(false)
        await button(page, "Try again").click()
        await page.locator(".results").waitFor()
        await context.clearCookies()
        await page.getByLabel("Query").fill("signed out")
        await button(page, "Search").click()
        // The page stays under a dialog that asks for the password, with what was typed on it.
        await page.getByRole("heading", { name: "Your session has ended" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByLabel("Password").fill("not the password")
        await button(page, "Continue").click()
        await page.getByText("Incorrect password.").waitFor()
        await page.getByLabel("Password").fill(Dashboard.password)
        await button(page, "Continue").click()
        await page.getByRole("dialog").waitFor({ state: "detached" })
        assert.strictEqual(await page.getByLabel("Query").inputValue(), "signed out")
        await button(page, "Search").click()
        await page.getByRole("link", { name: "HTTP caching explained" }).waitFor()
        assert.strictEqual(page.url(), `${origin}/dashboard/playground?query=signed+out`)
      })
    })
  )

  it.effect("gives code that runs as it is in curl and TypeScript, and that Python can read", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      const programs = {
        curl: ["sh", "-c"],
        typescript: [process.execPath, "--input-type=module", "-e"]
      }
      yield* Effect.promise(async () => {
        const { secret } = await person.makeKey("code")
        const env = { ...process.env, QUARRY_API_KEY: secret }
        for (const [language, [program = "", ...args]] of Object.entries(programs)) {
          for (const mode of ["single&query=it's+%22it%22+%24HOME", "bulk&queries=it's+%22it%22%0Aanother"]) {
            await person.open(
              `/dashboard/playground?code=${language}&num=3&include_domains=example.com,example.org&mode=${mode}`,
              "Playground"
            )
            const { stdout } = await promisify(execFile)(program, [...args, runnable(await text(page, ".code pre"))], {
              env
            })
            assert.include(stdout, "https://example.com/caching", `${language} ${mode}`)
          }
        }
        for (const mode of [
          "single&query=it's+%22it%22&freshness=week&exclude_domains=example.com,example.org",
          "bulk&queries=a%0Ab&after=2026-01-31&include_domains=example.com",
          "page&urls=https://a.example%0Ahttps://b.example&links=true"
        ]) {
          await person.open(`/dashboard/playground?code=python&mode=${mode}`, "Playground")
          await promisify(execFile)("python3", [
            "-c",
            "import ast, sys; ast.parse(sys.argv[1])",
            await text(page, ".code pre")
          ])
        }
        await person.open("/dashboard/playground?query=a&num=3", "Playground")
        await page.getByLabel("Agents").check()
        assert.include(await text(page, ".code >> nth=0"), "claude mcp add")
        assert.include(await text(page, ".code >> nth=4"), "/mcp")
        assert.include(await text(page, ".code >> nth=5"), '"num": 3')
        await Dashboard.expectAccessible(page)
      })
    })
  )

  it.effect("R62: searches with options, for one search and a batch, and the log finds them", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground?query=http+caching", "Playground")
        await page.getByText("Time, domains, and topic").click()
        await page.getByLabel("Published").selectOption("week")
        await page.getByLabel("Only these domains").fill("example.org, example.net")
        await Dashboard.expectAccessible(page)
        await button(page, "Search").click()
        await page.locator(".results li").nth(1).waitFor()
        assert.strictEqual(await page.locator(".results li").count(), 2)
        const query = new URL(page.url()).searchParams
        assert.deepStrictEqual(
          [query.get("freshness"), query.get("include_domains")],
          ["week", "example.org, example.net"]
        )
        // A date excludes a period, so choosing it clears the period.
        await page.getByLabel("From day (UTC)").fill("2026-01-31")
        assert.strictEqual(await page.getByLabel("Published").inputValue(), "")
        await page.getByLabel("From day (UTC)").fill("")
        await page.getByLabel("Batch").check()
        await page.getByLabel("Searches, one per line").fill("a\nb")
        await button(page, "Run batch").click()
        await page.getByText("2 of 2 succeeded.").waitFor()
        await person.open("/dashboard/log", "Log")
        await page.getByLabel("Add filter").selectOption("Search option")
        await page.getByLabel("Search option", { exact: true }).selectOption("freshness")
        await page.getByRole("button", { name: "Remove the filter Option: Published within" }).waitFor()
        await page.locator("#entries tbody tr").nth(1).waitFor({ state: "detached" })
        await page.getByLabel("Add filter").selectOption("Searched domain")
        await page.getByLabel("Searched domain", { exact: true }).fill("example.net")
        await page.getByRole("button", { name: "Remove the filter Domain: example.net" }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Remove the filter Option: Published within" }).click()
        await page.locator("#entries tbody tr").nth(2).waitFor()
        await page.getByRole("link", { name: "http caching" }).click()
        await page.getByText("Published within").waitFor()
        await page.getByText("alpha_search returned 2 results from meta/google").waitFor()
        assert.include(await text(page, ".code pre"), "include_domains=example.net,example.org")
        await page.getByRole("link", { name: "Run again in the playground" }).click()
        assert.strictEqual(await page.getByLabel("Only these domains").inputValue(), "example.net,example.org")
      })
    })
  )

  it.effect("works by the keyboard alone, in a window of 360 pixels", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn({ width: 360 })
      const { page } = person
      yield* Effect.promise(async () => {
        await person.open("/dashboard/playground", "Playground")
        await page.getByRole("radio", { name: "Search" }).focus()
        await page.keyboard.press("ArrowRight")
        await page.getByLabel("Page URLs, one per line").waitFor()
        await page.keyboard.press("ArrowRight")
        await page.getByLabel("Searches, one per line").waitFor()
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("Tab")
        await page.keyboard.type("http caching")
        await page.keyboard.press("Enter")
        await page.locator(".results").waitFor()
        await page.getByText("Compare targets").first().focus()
        await page.keyboard.press("Enter")
        await page.getByRole("row", { name: /zeta_search/ }).waitFor()
        await Dashboard.expectAccessible(page)
      })
    })
  )
})
