import { existsSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"

/** The first is Chromium without its windows: it starts at a quarter of the cost, and there is less to crash. */
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
const executablePath = programs.find((path) => existsSync(path))

const installed = executablePath !== undefined
const howToGetIt = "needs Chromium: apt-get install chromium-headless-shell"
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no ${programs.join(" or ")}: ${howToGetIt}`)
}

/** A group of tests that needs a browser, and says so when it is skipped for want of one. */
export const describeWithChromium = (name: string, tests: () => void): void => {
  if (!installed) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!installed)(installed ? name : `${name} (${howToGetIt})`, tests)
}

const args = [
  "--no-sandbox",
  "--disable-gpu",
  // On a busy machine Chromium takes its own drawing process for dead. After a few deaths of it Chromium ends itself.
  "--disable-gpu-watchdog",
  "--disable-gpu-process-crash-limit",
  // One process for the pages, of which one is open at a time: to start one for each test was a tenth of a file's CPU.
  "--renderer-process-limit=1",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** On a machine that does other work too. A person would have left long before. */
const limits = { launchMs: 60_000, contextMs: 30_000, actionMs: 60_000 }

const launch = (ownArgs: ReadonlyArray<string>) =>
  chromium.launch({ executablePath: `${executablePath}`, args: [...args, ...ownArgs], timeout: limits.launchMs })

const contextOf = async (browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> => {
  const late = setTimeout(limits.contextMs, undefined, { ref: false })
  const context = await Promise.race([browser.newContext(options), late])
  if (context === undefined) throw new Error("Chromium does not answer")
  context.setDefaultTimeout(limits.actionMs)
  return context
}

/** A browser that is there whenever a test asks: it is launched by the first that does, and again when it is gone. */
export class LiveBrowser {
  private launched: Promise<Browser> | undefined
  private readonly args: ReadonlyArray<string>

  constructor(args: ReadonlyArray<string>) {
    this.args = args
  }

  /** A profile of its own. A browser that does not give one has crashed or hangs, and another takes its place. */
  async newContext(options?: BrowserContextOptions): Promise<BrowserContext> {
    try {
      return await contextOf(await this.connected(), options)
    } catch (error) {
      console.warn("A browser is launched again:", error)
      await this.close()
      return contextOf(await this.connected(), options)
    }
  }

  async newPage(options?: BrowserContextOptions): Promise<Page> {
    return (await this.newContext(options)).newPage()
  }

  /** The browser, which runs. */
  async connected(): Promise<Browser> {
    const browser = await this.launched?.catch(() => undefined)
    if (browser?.isConnected() === true) return browser
    this.launched = launch(this.args)
    return this.launched
  }

  async close(): Promise<void> {
    const browser = await this.launched?.catch(() => undefined)
    this.launched = undefined
    await browser?.close()
  }
}

/** A browser that nobody used before, with arguments of its own. Closed with the scope. */
export const browserWith = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => new LiveBrowser(args)),
    (browser) => Effect.promise(() => browser.close())
  )

export const browser = browserWith()
