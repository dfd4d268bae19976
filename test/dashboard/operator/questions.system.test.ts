import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "../support/Dashboard.ts"
import { describeConsole, engine, type Operator, operator, perform, run } from "./operators.ts"

/*
 * Ten everyday questions of an operator, each answered from a fresh sign-in, by what the pages say. The clock and the count
 * of clicks start on the first page after the sign-in.
 */

const dayMs = 86_400_000

/** Lets the browser take tomorrow for today, so that today's searches are yesterday's. The page takes the time from responses. */
const waitADay = ({ context }: Operator) =>
  context.route("**/v1/**", async (route) => {
    const response = await route.fetch()
    const date = new Date(Date.now() + dayMs).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date } })
  })

/** From an address of its own, because one address may sign in only three times in ten seconds. */
const freshSignIn = async ({ context, email, origin, page, recoveryCodes }: Operator): Promise<void> => {
  await context.clearCookies()
  await context.setExtraHTTPHeaders({ "x-forwarded-for": `10.1.0.${recoveryCodes.length}` })
  await page.goto(`${origin}/dashboard/operator`)
  await page.getByLabel("Email").fill(email)
  await page.getByLabel("Password").fill(Dashboard.password)
  await page.keyboard.press("Enter")
  await page.getByLabel("Code").fill(recoveryCodes.pop() ?? assert.fail("no recovery code is left"))
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { level: 1, name: "Now", exact: true }).waitFor()
}

/** A customer whose searches fail, because the engine of `beta_search` answered once and then went away. */
const unluckyCustomer = Effect.gen(function* () {
  const customer = yield* Dashboard.signedIn()
  const { json: me } = yield* Effect.promise(() => customer.call("GET", "/v1/session/account"))
  const { requestId, secret } = yield* Effect.promise(async () => {
    const { secret } = await customer.makeKey("production")
    const search = (query: string) =>
      fetch(`${customer.origin}/v1/query?target=beta_search&query=${query}`, {
        headers: { authorization: `Bearer ${secret}` }
      })
    assert.strictEqual((await search("works")).status, 200)
    engine.isUp = false
    const responses = []
    for (const query of ["one", "two", "three", "four", "five", "six"]) responses.push(await search(query))
    return { requestId: responses[0]?.headers.get("x-request-id") ?? "", secret }
  })
  return { ...customer, id: me.accounts[0].id as string, requestId, secret }
})

type Customer = Effect.Success<typeof unluckyCustomer>

interface World {
  readonly me: Operator
  readonly customer: Customer
  readonly file: string
}

const go = ({ page }: Operator, name: string): Promise<void> =>
  page.getByRole("navigation", { name: "Operator's console" }).getByRole("link", { name, exact: true }).click()

const openCustomer = async ({ customer, me }: World): Promise<void> => {
  await go(me, "Customers")
  await me.page.getByLabel("Email, account, key or name").fill(customer.email)
  await me.page.keyboard.press("Enter")
  await me.page.getByRole("link", { name: customer.email, exact: true }).click()
  await me.page.getByRole("heading", { level: 1, name: customer.email, exact: true }).waitFor()
}

type Answer = (world: World) => Promise<unknown>

const questions: ReadonlyArray<readonly [question: string, answer: Answer]> = [
  [
    "Why was this request refused?",
    async ({ customer, me }) => {
      await go(me, "One request")
      await me.page.getByLabel("Id of a search, batch, request or trace").fill(customer.requestId)
      await me.page.keyboard.press("Enter")
      await me.page.getByText("beta_search failed after").first().waitFor()
      await me.page.getByText("could not be reached").first().waitFor()
    }
  ],
  [
    "Who used most yesterday?",
    async ({ customer, me }) => {
      await waitADay(me)
      await me.page.reload()
      await go(me, "Who used most")
      await me.page.getByRole("radio", { name: "Yesterday" }).click()
      const first = me.page.getByRole("row").nth(1)
      await first.filter({ hasText: customer.email }).waitFor()
      await me.context.unrouteAll({ behavior: "ignoreErrors" })
    }
  ],
  [
    "Which engine is down, and since when?",
    async ({ me }) => {
      await go(me, "Engines")
      const providers = me.page.getByRole("region", { name: "Providers" })
      const row = providers.getByRole("row").filter({ hasText: "meta/google" })
      await row.getByText("down", { exact: true }).waitFor()
      await row.getByText("Last success:").waitFor()
      assert.match(await row.innerText(), /unreachable/)
    }
  ],
  [
    "Give a customer 500 credits, and say why",
    async (world) => {
      await openCustomer(world)
      await world.me.page.getByRole("button", { name: "Give credits" }).click()
      const line = await perform(world.me.page, "Give credits", async (dialog) => {
        await dialog.getByLabel("Credits").fill("500")
        await dialog.getByLabel("Reason").fill("outage of beta_search")
      })
      assert.include(line, `quarry account grant --id ${world.customer.id} --credits 500`)
      await world.me.page.locator("dd", { hasText: /^500$/ }).waitFor()
    }
  ],
  [
    "End somebody's sessions",
    async (world) => {
      await openCustomer(world)
      await Dashboard.choose(world.me.page, "More actions", "End all sessions")
      await perform(world.me.page, "End all sessions")
      assert.strictEqual((await world.customer.call("GET", "/v1/me")).status, 401)
    }
  ],
  [
    "Find a customer by the prefix of a key",
    async ({ customer, me }) => {
      await go(me, "Customers")
      await me.page.getByLabel("Email, account, key or name").fill(customer.secret.slice(0, 14))
      await me.page.keyboard.press("Enter")
      await me.page.getByRole("link", { name: customer.email, exact: true }).waitFor()
    }
  ],
  [
    "What changed in the settings?",
    async ({ me }) => {
      await go(me, "Settings")
      const row = me.page.getByRole("row").filter({ hasText: "OPERATOR_CONSOLE" })
      await row.getByText("environment").waitFor()
      assert.strictEqual(await me.page.getByRole("row").filter({ hasText: "BULK_BUDGET" }).count(), 0)
    }
  ],
  [
    "Load documents",
    async ({ file, me }) => {
      await go(me, "Index")
      await me.page.getByLabel("File").setInputFiles(file)
      await me.page.getByRole("button", { name: "Load", exact: true }).click()
      await me.page.getByText("Loaded 2 documents").waitFor()
    }
  ],
  [
    "Is the ledger clean?",
    async ({ me }) => {
      await go(me, "Money")
      await me.page.getByRole("button", { name: "Verify the ledger" }).click()
      await me.page.getByText("All accounts match their records.").waitFor()
    }
  ],
  [
    "What did my colleague do?",
    async ({ customer, me }) => {
      await go(me, "Audit")
      await me.page.getByLabel("Operator", { exact: true }).fill("ann")
      await me.page.keyboard.press("Enter")
      const row = me.page.getByRole("row").filter({ hasText: "account suspend" })
      await row.getByRole("link", { name: customer.id }).waitFor()
      await row.getByText("a chargeback").waitFor()
    }
  ]
]

const documents = ["one", "two"].map((name) =>
  JSON.stringify({ url: `https://docs.example.org/${name}`, title: name, description: `The page ${name}` })
)

describeConsole("ten everyday questions", (it) => {
  it.effect("are each answered by what the pages say, with at most six clicks", () =>
    Effect.gen(function* () {
      const customer = yield* unluckyCustomer
      yield* run("account", "suspend", "--id", customer.id, "--reason", "a chargeback", "--by", "ann")
      yield* run("account", "resume", "--id", customer.id, "--by", "ann")
      const me = yield* operator()
      me.expectComplaint(/40[13]/)
      const file = join(mkdtempSync(join(tmpdir(), "quarry-documents-")), "documents.jsonl")
      writeFileSync(file, documents.join("\n"))
      yield* Effect.promise(async () => {
        const clicks = await Dashboard.countClicks(me.page)
        const lines: Array<string> = []
        for (const [question, answer] of questions) {
          await freshSignIn(me)
          const [before, start] = [clicks(), performance.now()]
          await answer({ me, customer, file })
          const seconds = (performance.now() - start) / 1_000
          lines.push(`${question} ${clicks() - before} clicks, ${seconds.toFixed(1)} s`)
          assert.isAtMost(clicks() - before, 6, question)
        }
        console.log(lines.join("\n"))
      })
    })
  )
})
