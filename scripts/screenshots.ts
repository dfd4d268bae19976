import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { codeOf } from "../test/support/accounts/totp.ts"

/*
 * Makes the pictures of the documents from the running product: the first start of the embedded store, a sign-in with the link
 * that it prints, and searches through the API. Takes the main pages in light and dark, on a phone and in 4K into
 * `.screenshots`, for people to look at. Then makes the pictures that a test compares pages with. `npm run screenshots`
 * takes about three minutes and needs Chromium. With `--documents` it makes the pictures of the documents only, and leaves
 * those of the test as they are: the gate compares pages with them.
 */

const documentsOnly = process.argv.includes("--documents")

const root = join(import.meta.dirname, "..")
const folder = join(root, "docs/images")
const viewsFolder = join(root, ".screenshots")
const port = 4790
const origin = `http://localhost:${port}`
const password = "correct horse battery staple"

const queries = [
  ["http caching", "alpha_search"],
  ["css grid subgrid", "beta_search"],
  ["fetch abort controller", "alpha_search"],
  ["content security policy nonce", "gamma_search"],
  ["service worker lifecycle", "alpha_search"],
  ["intersection observer root margin", "delta_search"],
  ["aria live region", "alpha_search"],
  ["web crypto hkdf", "beta_search"]
] as const

const views: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1280, height: 900 } },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 } },
  "4k": { viewport: { width: 3840, height: 2160 } },
  "4k-dark": { viewport: { width: 3840, height: 2160 }, colorScheme: "dark" }
}

const viewedPages = (entryId: string): Readonly<Record<string, string>> => ({
  overview: "",
  playground: "/playground?query=http+caching&freshness=week",
  batch: "/playground?mode=bulk&queries=http+caching%0Aetag&code=typescript",
  log: "/log?kind=search",
  "log-entry": `/log/${entryId}`,
  usage: "/usage?group_by=kind",
  keys: "/keys",
  webhooks: "/webhooks",
  billing: "/billing",
  account: "/account",
  "operator-now": "/operator",
  "operator-customers": "/operator/customers",
  "operator-engines": "/operator/engines",
  "operator-request": `/operator/request/${entryId}`,
  "sign-in": "/sign-in",
  "not-found": "/nothing"
})

const asItOpens = async (): Promise<void> => undefined

/** A page of the dashboard, and the steps on it before its picture is taken. */
const pictures: ReadonlyArray<{
  readonly name: string
  readonly path: string
  readonly prepare: (page: Page) => Promise<void>
}> = [
  { name: "overview", path: "/dashboard", prepare: asItOpens },
  {
    name: "playground",
    path: "/dashboard/playground?query=http+caching",
    prepare: async (page) => {
      await page.getByRole("button", { name: "Search", exact: true }).click()
      await page
        .getByText(/^1 credit/)
        .or(page.getByRole("listitem"))
        .first()
        .waitFor()
    }
  },
  { name: "operator-now", path: "/dashboard/operator", prepare: asItOpens },
  {
    name: "operator-act",
    path: "/dashboard/operator/customers",
    prepare: async (page) => {
      await page.getByRole("row").nth(1).getByRole("link").click()
      await page.getByRole("button", { name: "Give credits" }).click()
      await page.getByLabel("Credits", { exact: true }).fill("500")
      await page.getByLabel("Reason").fill("outage of 3 March")
    }
  }
]

/** The server's lines, once each pattern matches. */
const readUntil = (server: ChildProcess, ...patterns: ReadonlyArray<RegExp>): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ""
    server.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (patterns.every((pattern) => pattern.test(output))) resolve(output)
    })
    server.once("exit", () => reject(new Error(`the server ended: ${output}`)))
  })

const [keyPattern, linkPattern] = [/sk_live_\w+/, /"link":"([^"]+)"/]

/** The key and the link of the first start's JSON lines, once both are there. */
const readGreeting = async (server: ChildProcess): Promise<{ readonly key: string; readonly link: string }> => {
  const output = await readUntil(server, keyPattern, linkPattern)
  return { key: keyPattern.exec(output)?.[0] ?? "", link: linkPattern.exec(output)?.[1] ?? "" }
}

const signIn = async (context: BrowserContext, link: string): Promise<void> => {
  const page = await context.newPage()
  await page.goto(link)
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Save password" }).click()
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  await page.close()
}

/** Makes the person an operator: a command needs the embedded store for itself, so the server starts again. */
const makeOperator = async ({ request }: BrowserContext): Promise<void> => {
  const post = (path: string, data: object) => request.post(origin + path, { data, headers: { origin } })
  const { totpURI } = await (await post("/api/auth/two-factor/enable", {})).json()
  await post("/api/auth/two-factor/verify-totp", { code: codeOf(totpURI) })
  const { email } = await (await request.get(`${origin}/v1/me`)).json()
  server.kill("SIGTERM")
  await once(server, "exit")
  execFileSync(join(root, "bin/quarry"), ["operator", "add", "--email", email], { env })
  server = start()
  await readUntil(server, /listens at/)
}

const takePictures = async (context: BrowserContext): Promise<void> => {
  const page = await context.newPage()
  for (const { name, path, prepare } of pictures) {
    await page.goto(origin + path)
    await page.waitForLoadState("networkidle")
    await prepare(page)
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
}

const takeViews = async (browser: Browser, signedIn: BrowserContext, entryId: string): Promise<void> => {
  mkdirSync(viewsFolder, { recursive: true })
  for (const [view, options] of Object.entries(views)) {
    const context = await browser.newContext({
      ...options,
      reducedMotion: "reduce",
      storageState: await signedIn.storageState()
    })
    const page = await context.newPage()
    for (const [name, path] of Object.entries(viewedPages(entryId))) {
      await page.goto(`${origin}/dashboard${path}`)
      await page.waitForLoadState("networkidle")
      await page.screenshot({ path: join(viewsFolder, `${name}-${view}.png`), fullPage: true })
    }
    await context.close()
  }
}

const data = mkdtempSync(join(tmpdir(), "quarry-screenshots-"))
const env = {
  PATH: process.env.PATH,
  PORT: `${port}`,
  ADMIN_PORT: "0",
  DATA_DIR: join(data, "store"),
  LOG_FORMAT: "json",
  OPERATOR_CONSOLE: "on"
}
const start = (): ChildProcess =>
  spawn(join(root, "bin/quarry-server"), [], { env, stdio: ["ignore", "pipe", "inherit"] })
let server = start()
const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path)) ?? ""
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 120_000 })
try {
  const { key, link } = await readGreeting(server)
  mkdirSync(folder, { recursive: true })
  let entryId = ""
  for (const [query, target] of queries) {
    const address = `${origin}/v1/query?${new URLSearchParams({ query, target })}`
    const response = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
    entryId = /qry_[0-9a-f]{32}/.exec(await response.text())?.[0] ?? entryId
  }
  const context = await browser.newContext({ viewport: { width: 1280, height: 960 }, deviceScaleFactor: 1 })
  context.setDefaultTimeout(120_000)
  await signIn(context, link)
  await makeOperator(context)
  await takePictures(context)
  if (!documentsOnly) await takeViews(browser, context, entryId)
} finally {
  await browser.close()
  // At once: the store must not lose its directory while the server still loads documents into it.
  server.kill("SIGKILL")
  await once(server, "exit")
  rmSync(data, { recursive: true, force: true })
}

if (!documentsOnly) {
  execFileSync("npx", ["vitest", "run", "test/dashboard/whole/pictures.system.test.ts"], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, QUARRY_UPDATE_PICTURES: "1" }
  })
}
