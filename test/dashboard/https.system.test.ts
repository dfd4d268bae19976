import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { createServer } from "node:https"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { browser, describeWithChromium } from "../support/processes/Chromium.ts"
import { freePort, spawned, temporaryDirectory } from "../support/processes/Spawned.ts"
import * as EmbeddedStore from "../support/stores/EmbeddedStore.ts"
import { password } from "./support/Dashboard.ts"

/** A proxy that ends TLS before the service, with a certificate of its own. */
const proxyTo = Effect.fnUntraced(function* (port: number, tlsPort: number) {
  const directory = yield* temporaryDirectory
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")]
  const files = ["-keyout", key, "-out", cert, "-subj", "/CN=localhost"]
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files], {
    stdio: "ignore"
  })
  yield* Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (incoming, outgoing) => {
            const { headers, method, url } = incoming
            const forwarded = { ...headers, "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https" }
            const onward = request({ host: "127.0.0.1", port, method, path: url, headers: forwarded }, (answer) => {
              outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
              answer.pipe(outgoing)
            })
            incoming.pipe(onward)
          }).listen(tlsPort, "127.0.0.1", () => resolve(server))
        })
    ),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
})

describeWithChromium("the dashboard behind a proxy under https", () => {
  it.live(
    "signs in with a cookie that only https carries, and opens deep links",
    () =>
      Effect.gen(function* () {
        const [port, tlsPort] = [yield* freePort, yield* freePort]
        const origin = `https://localhost:${tlsPort}`
        const process = yield* spawned("src/main.ts", [], {
          LOG_FORMAT: "json",
          DATA_DIR: yield* EmbeddedStore.directory,
          PORT: `${port}`,
          BASE_URL: origin,
          TRUSTED_PROXY_HOPS: "1"
        })
        yield* process.said("Quarry listens at ")
        yield* proxyTo(port, tlsPort)
        const context = yield* Effect.flatMap(browser, (browser) =>
          Effect.promise(() => browser.newContext({ ignoreHTTPSErrors: true }))
        )
        yield* Effect.promise(async () => {
          const page = await context.newPage()
          await page.goto(`${origin}/dashboard/account`)
          await page.getByRole("link", { name: "Create an account" }).click()
          await page.getByLabel("Email").fill("ada@example.com")
          await page.getByLabel("Password").fill(password)
          await page.getByRole("button", { name: "Create account" }).click()
          await page.waitForURL(`${origin}/dashboard/account`)
          await page.getByText("this browser").waitFor()
          const [cookie] = await context.cookies()
          assert.deepInclude(cookie, {
            name: "__Secure-quarry.session_token",
            secure: true,
            httpOnly: true,
            sameSite: "Lax"
          })
        })
      }),
    180_000
  )
})
