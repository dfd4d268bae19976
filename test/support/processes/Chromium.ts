import { existsSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"

/** The first is headless Chromium, which starts at a quarter of the cost and has less that can crash. */
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
const executablePath = programs.find((path) => existsSync(path))

const installed = executablePath !== undefined
const howToGetIt = "needs Chromium: apt-get install chromium-headless-shell"
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no ${programs.join(" or ")}: ${howToGetIt}`)
}

/** A group of tests that need a browser. If there is none, it is skipped with a message. */
export const describeWithChromium = (name: string, tests: () => void): void => {
  if (!installed) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!installed)(installed ? name : `${name} (${howToGetIt})`, tests)
}

const args = [
  "--no-sandbox",
  "--disable-gpu",
  // On a busy machine, Chromium mistakes its GPU process for hung, and exits after several of these "crashes".
  "--disable-gpu-watchdog",
  "--disable-gpu-process-crash-limit",
  // One process for pages, of which one is open at a time. Starting one per test took a tenth of a file's CPU time.
  "--renderer-process-limit=1",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** Long enough for a busy machine. */
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

/** A browser that is launched by the first test that needs it, and again if it is gone. */
export class LiveBrowser {
  private launched: Promise<Browser> | undefined
  private readonly args: ReadonlyArray<string>

  constructor(args: ReadonlyArray<string>) {
    this.args = args
  }

  /** Creates a profile. If the browser has crashed or hangs, replaces it first. */
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

/** A new browser with these arguments, closed with the scope. */
export const browserWith = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => new LiveBrowser(args)),
    (browser) => Effect.promise(() => browser.close())
  )

export const browser = browserWith()
