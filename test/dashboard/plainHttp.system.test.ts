import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { browserWith, describeWithChromium } from "../support/processes/Chromium.ts"
import { freePort, spawned } from "../support/processes/Spawned.ts"
import * as EmbeddedStore from "../support/stores/EmbeddedStore.ts"
import { password } from "./support/Dashboard.ts"

describeWithChromium("the dashboard over plain http, on another machine's name", () => {
  it.live(
    "R25: the playground spends credits, and a link of another site does not, although the cookie comes with it",
    () =>
      Effect.gen(function* () {
        const port = yield* freePort
        const origin = `http://quarry.test:${port}`
        const process = yield* spawned("src/main.ts", [], {
          LOG_FORMAT: "json",
          DATA_DIR: yield* EmbeddedStore.directory,
          PORT: `${port}`,
          BASE_URL: origin
        })
        yield* process.said("Quarry listens at ")
        const browser = yield* browserWith("--host-resolver-rules=MAP *.test 127.0.0.1")
        const page = yield* Effect.promise(() => browser.newPage())
        yield* Effect.promise(async () => {
          await page.goto(`${origin}/dashboard/playground`)
          await page.getByRole("link", { name: "Create an account" }).click()
          await page.getByLabel("Email").fill("ada@example.com")
          await page.getByLabel("Password").fill(password)
          await page.getByRole("button", { name: "Create account" }).click()
          await page.getByText("You have 100.").waitFor()
          await page.getByLabel("Query").fill("http caching")
          await page.getByRole("button", { name: "Search", exact: true }).click()
          await page.getByText("You have 99.").waitFor()

          await page.goto(`http://evil.test:${port}/robots.txt`)
          const navigation = page.waitForResponse((response) => response.url().startsWith(origin))
          await page.evaluate(`location.href = "${origin}/v1/query?query=spent+by+a+link"`)
          const response = await navigation
          const headers = await response.request().allHeaders()
          // What the attack needs: the cookie, and no header that names the page.
          assert.include(headers.cookie ?? "", "quarry.session_token=")
          assert.notProperty(headers, "sec-fetch-site")
          assert.notProperty(headers, "origin")
          assert.strictEqual(response.status(), 401)
          await page.waitForURL(response.url())

          await page.goto(`${origin}/dashboard/playground`)
          await page.getByText("You have 99.").waitFor()
        })
      }),
    180_000
  )
})
