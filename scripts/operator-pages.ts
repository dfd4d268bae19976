import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type BrowserContext, chromium } from "playwright-core"
import { codeOf } from "../test/support/accounts/totp.ts"

/*
 * Opens each page of the operator's console in Chromium, against the service on the database that operator-plans.ts fills
 * (DATABASE_URL), and prints in Markdown how long it takes from the start of the navigation until the page shows its first
 * data, and until it has all of it. Each load is a new document, whose files the browser has in its cache.
 */

const loads = 5
const port = 4791
const origin = `http://localhost:${port}`
const root = join(import.meta.dirname, "..")

const { values: options } = parseArgs({ options: { settle: { type: "string", default: "20" } } })

const env = {
  PATH: process.env.PATH,
  DATABASE_URL: process.env.DATABASE_URL ?? "postgres://postgres@127.0.0.1:5432/quarry_operator_plans",
  AUTH_SECRET: "a secret for plans of 32 characters or more",
  KEY_PEPPER: "a pepper for plans of 32 characters or more",
  OPERATOR_CONSOLE: "on",
  ADMIN_PORT: "0",
  PORT: `${port}`
}

/** `aria-busy` is on what a page shows of its data, and a skeleton on what it does not have yet. */
const noteTimes = `new MutationObserver(() => requestAnimationFrame(() => {
  if (document.querySelector("main [aria-busy=false]") === null) return
  globalThis.firstMs ??= performance.now()
  if (document.querySelector(".skeleton, [aria-busy=true]") === null) {
    globalThis.allMs ??= performance.now()
    document.documentElement.dataset.hasAll = ""
  }
})).observe(document, { childList: true, subtree: true, attributes: true })`

const send = async (context: BrowserContext, path: string, data: object) => {
  const response = await context.request.post(`${origin}${path}`, { headers: { origin }, data })
  if (!response.ok()) throw new Error(`${path}: ${response.status()} ${await response.text()}`)
  return response.json()
}

const quarry = (...args: ReadonlyArray<string>): void => {
  execFileSync(process.execPath, ["src/cli.ts", ...args], { cwd: root, env })
}

/** Signs somebody up who may use the console, on a plan whose rate limit is above the requests of all loads. */
const enter = async (context: BrowserContext): Promise<void> => {
  const email = `operator${Date.now()}@example.com`
  await send(context, "/api/auth/sign-up/email", { email, password: "correct horse battery staple", name: "" })
  const { totpURI } = await send(context, "/api/auth/two-factor/enable", {})
  await send(context, "/api/auth/two-factor/verify-totp", { code: codeOf(totpURI) })
  const response = await context.request.get(`${origin}/v1/session/account`)
  const { accounts } = await response.json()
  quarry("account", "set-plan", "--id", accounts[0].id, "--plan", "business", "--concurrency", "100")
  quarry("operator", "add", "--email", email)
}

/** The account with a tenth of the searches, as `load.sql` makes it. */
const id = `acc_${createHash("md5").update("0").digest("hex")}`

const pagesOf = async (context: BrowserContext): Promise<ReadonlyArray<readonly [string, string]>> => {
  const response = await context.request.get(`${origin}/v1/operator/customers/${id}/log?limit=1`)
  const { queries } = await response.json()
  return [
    ["Now", ""],
    ["Customers", "/customers"],
    ["Customers, by a name that half of the keys have", "/customers?text=production"],
    ["Customers, suspended", "/customers?suspended=true"],
    ["A customer with a million searches", `/customers/${id}`],
    ["One request", `/request/${queries[0].id}`],
    ["Engines", "/engines"],
    ["Who used most, 24 hours", "/usage"],
    ["Who used most, 24 hours by key", "/usage?by=key"],
    ["Who used most, 7 days", "/usage?range=7d"],
    ["Index", "/index"],
    ["Money", "/money"],
    ["Audit", "/audit"],
    ["Settings", "/settings"]
  ]
}

interface Times {
  readonly firstMs: number
  readonly allMs: number
}

const open = async (context: BrowserContext, path: string): Promise<Times> => {
  const page = await context.newPage()
  await page.addInitScript(noteTimes)
  await page.goto(`${origin}/dashboard/operator${path}`)
  await page.locator("html[data-has-all]").waitFor({ state: "attached" })
  const times = await page.evaluate<Times>("({ firstMs: globalThis.firstMs, allMs: globalThis.allMs })")
  await page.close()
  return times
}

/** The median and the worst. */
const summary = (values: ReadonlyArray<number>): string => {
  const sorted = values.toSorted((a, b) => a - b)
  return `${(sorted[Math.floor(loads / 2)] ?? 0).toFixed(0)} | ${(sorted.at(-1) ?? 0).toFixed(0)}`
}

const server = spawn(process.execPath, ["src/main.ts"], { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] })
const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path)) ?? ""
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] })
try {
  for await (const text of server.stdout.iterator({ destroyOnReturn: false }))
    if (`${text}`.includes("Quarry listens")) break
  server.stdout.resume()
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" })
  await enter(context)
  const pages = await pagesOf(context)
  // What a start does in the background is not part of opening a page.
  await new Promise((resolve) => setTimeout(resolve, Number(options.settle) * 1_000))
  console.log(
    "| Page | first data, median (ms) | worst | all data, median (ms) | worst |\n| --- | --- | --- | --- | --- |"
  )
  for (const [name, path] of pages) {
    const times: Array<Times> = []
    for (let turn = 0; turn < loads; turn++) times.push(await open(context, path))
    const [first, all] = [times.map(({ firstMs }) => firstMs), times.map(({ allMs }) => allMs)]
    console.log(`| ${name} | ${summary(first)} | ${summary(all)} |`)
  }
} finally {
  await browser.close()
  server.kill()
  await once(server, "exit")
}
