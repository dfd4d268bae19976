import { existsSync } from "node:fs"
import { describe } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { launch, type Page } from "puppeteer-core"

const executablePath = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path))

const installed = executablePath !== undefined
const howToGetIt = "needs Firefox: apt-get install firefox-esr"
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is no Firefox: ${howToGetIt}`)
}

/** A group of tests that need Firefox. If there is none, it is skipped with a message. */
export const describeWithFirefox = (name: string, tests: () => void): void => {
  if (!installed) console.warn(`Skipped: ${name} (${howToGetIt})`)
  describe.skipIf(!installed)(installed ? name : `${name} (${howToGetIt})`, tests)
}

/** Long enough for a busy machine. */
const limits = { launchMs: 120_000, actionMs: 60_000 }

/** A page of a new Firefox with a profile of its own, driven by WebDriver BiDi and closed with the scope. */
export const firefoxPageWith = (
  preferences: Readonly<Record<string, number>>
): Effect.Effect<Page, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      launch({
        browser: "firefox",
        executablePath: `${executablePath}`,
        headless: true,
        timeout: limits.launchMs,
        protocolTimeout: limits.launchMs,
        extraPrefsFirefox: preferences
      })
    ),
    (browser) => Effect.promise(() => browser.close())
  ).pipe(
    Effect.flatMap((browser) =>
      Effect.promise(async () => {
        const page = await browser.newPage()
        page.setDefaultTimeout(limits.actionMs)
        await page.setViewport({ width: 1280, height: 900 })
        return page
      })
    )
  )

export const firefoxPage = firefoxPageWith({})
