import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { build } from "vite"
import { browser, describeWithChromium } from "../../support/processes/Chromium.ts"
import { freePort, spawned } from "../../support/processes/Spawned.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"

const person = { email: "ada@example.com", password: "correct horse battery staple", name: "Ada" }

const bundle = Effect.promise(async () => {
  const entry = fileURLToPath(new URL("../../support/agents/webProgram.js", import.meta.url))
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, lib: { entry, formats: ["es"], fileName: "program" } }
  })
  const [output] = Array.isArray(built) ? built : [built]
  const [chunk] = output !== undefined && "output" in output ? output.output : []
  return chunk?.type === "chunk" ? chunk.code : assert.fail("the program was not built")
})

/** A site on another origin that serves only the program. */
const site = Effect.gen(function* () {
  const code = yield* bundle
  const server = createServer((_, response) =>
    response
      .setHeader("content-type", "text/html")
      .end(`<title>Connecting</title><script type="module">${code}</script>`)
  )
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => server.listen(0, "localhost", done))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  return `http://localhost:${(server.address() as AddressInfo).port}`
})

const serverWith = Effect.fnUntraced(function* (env: Record<string, string>) {
  const port = yield* freePort
  const origin = `http://127.0.0.1:${port}`
  const process = yield* spawned("src/main.ts", [], {
    LOG_FORMAT: "json",
    DATA_DIR: yield* EmbeddedStore.directory,
    PORT: `${port}`,
    BASE_URL: origin,
    ...env
  })
  yield* process.said("Quarry listens at ")
  yield* Effect.promise(() =>
    fetch(`${origin}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { origin, "content-type": "application/json" },
      body: JSON.stringify(person)
    })
  )
  return origin
})

const newPage = Effect.flatMap(browser, (browser) => Effect.promise(() => browser.newPage()))

describeWithChromium("R48: an agent in a web page of another origin", () => {
  it.live(
    "registers, signs its person in, and searches, if its origin is listed",
    () =>
      Effect.gen(function* () {
        const program = yield* site
        const quarry = yield* serverWith({ CORS_ORIGINS: program })
        const page = yield* newPage
        yield* Effect.promise(async () => {
          await page.goto(`${program}/?server=${quarry}`)
          await page.getByLabel("Email").fill(person.email)
          await page.getByLabel("Password").fill(person.password)
          await page.getByRole("button", { name: "Sign in", exact: true }).click()
          await page.getByRole("button", { name: "Allow" }).click()
          await page.waitForURL((url) => url.origin === program)
          await page.waitForFunction('document.title !== "Connecting"')
        })
        assert.strictEqual(yield* Effect.promise(() => page.title()), "4 searches")
      }).pipe(Effect.scoped),
    { timeout: 180_000 }
  )
})
