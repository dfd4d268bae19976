import { existsSync } from "node:fs"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { chromium } from "playwright-core"

const executablePath = "/usr/bin/chromium"

const installed = existsSync(executablePath)
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no ${executablePath}: apt-get install chromium`)
}

const howToGetIt = "needs Chromium: apt-get install chromium"

/** A group of tests that needs a browser, and says so when it is skipped for want of one. */
export const describeWithChromium = (name: string, tests: () => void): void => {
  if (!installed) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!installed)(installed ? name : `${name} (${howToGetIt})`, tests)
}

const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** A browser that nobody used before. Closed with the scope. */
export const browser = Effect.acquireRelease(
  Effect.promise(() => chromium.launch({ executablePath, args, headless: true })),
  (browser) => Effect.promise(() => browser.close())
)
