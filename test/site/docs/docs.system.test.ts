import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Listener from "../../support/api/Listener.ts"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"

/** A script with measurements of the page. It is a string, because it runs in the browser with its globals. */
const facts = `({
  overflow: document.documentElement.scrollWidth - innerWidth,
  cut: [...document.querySelectorAll("td, th, p, li, summary")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").length,
  styled: getComputedStyle(document.querySelector("header")).position,
  background: getComputedStyle(document.body).backgroundColor,
  contents: document.querySelector("nav a").checkVisibility({ contentVisibilityAuto: true }) && document.querySelector("nav a").getBoundingClientRect().height > 0
})`

interface Facts {
  readonly overflow: number
  readonly cut: number
  readonly styled: string
  readonly background: string
  readonly contents: boolean
}

describeWithChromium("the API reference in a browser", () => {
  it.live("loads from here alone, breaks no policy, fits a phone and a desk, and is light or dark as asked", () =>
    Effect.gen(function* () {
      const { port } = yield* Listener.start()
      const origin = `http://127.0.0.1:${port}`
      const chromium = yield* browser
      const visit = async (width: number, colorScheme: "light" | "dark") => {
        const page = await chromium.newPage({ viewport: { width, height: 800 }, colorScheme })
        const complaints: Array<string> = []
        const requested: Array<string> = []
        page.on("console", (message) => complaints.push(message.text()))
        page.on("request", (request) => requested.push(request.url()))
        await page.goto(`${origin}/docs`, { waitUntil: "networkidle" })
        // The script answers an object of this form.
        const seen = (await page.evaluate(facts)) as Facts
        await page.close()
        return { complaints, requested, seen }
      }
      for (const [width, colorScheme, background, contents] of [
        [1440, "light", "rgb(255, 255, 255)", true],
        [820, "dark", "rgb(28, 27, 25)", false],
        [360, "light", "rgb(255, 255, 255)", false]
      ] as const) {
        const { complaints, requested, seen } = yield* Effect.promise(() => visit(width, colorScheme))
        assert.deepStrictEqual(complaints, [])
        for (const url of requested)
          assert.isTrue(url.startsWith(`${origin}/docs`) || url === `${origin}/favicon.ico`, url)
        assert.deepStrictEqual(seen, { overflow: 0, cut: 0, styled: "sticky", background, contents }, `${width} px`)
      }
    })
  )
})
