import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Dashboard from "../../dashboard/support/Dashboard.ts"
import { browser, describeWithChromium } from "../processes/Chromium.ts"
import { renewed } from "./renewed.ts"

describeWithChromium("what the tests of a file share", () => {
  it.live("a browser that has crashed is launched again", () =>
    Effect.gen(function* () {
      const chromium = yield* browser
      yield* Effect.promise(async () => {
        const first = await chromium.connected()
        const gone = new Promise((resolve) => first.once("disconnected", resolve))
        const session = await first.newBrowserCDPSession()
        session.send("Browser.crash").catch(() => undefined)
        await gone
        const page = await chromium.newPage()
        await page.setContent("<h1>Here again</h1>")
        await page.getByRole("heading", { name: "Here again" }).waitFor()
      })
    })
  )

  it.live("a service that has ended or could not start is made anew", () =>
    Effect.gen(function* () {
      const starts = { count: 0 }
      const live = yield* renewed(
        Effect.suspend(() => (++starts.count === 1 ? Effect.die("no port") : Dashboard.start("embedded"))),
        ({ process }) => process.isRunning()
      )
      yield* Effect.exit(live)
      const { process } = yield* live
      assert.strictEqual((yield* live).process, process)
      process.kill("SIGKILL")
      yield* process.ended
      const { origin } = yield* live
      const response = yield* Effect.promise(() => fetch(`${origin}/docs`))
      assert.deepStrictEqual({ status: response.status, starts: starts.count }, { status: 200, starts: 3 })
    })
  )
})
