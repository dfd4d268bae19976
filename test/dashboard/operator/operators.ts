import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { codeOf } from "../../support/accounts/totp.ts"
import { describeWithChromium } from "../../support/processes/Chromium.ts"
import { command } from "../../support/processes/Command.ts"
import { answer, rows } from "../../support/servers/SearXNGServer.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import * as Dashboard from "../support/Dashboard.ts"

/** The search engine behind `beta_search`, which tests break. */
export const engine = { isUp: true }

const engineServer = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly url: string; readonly close: () => void }>((resolve) => {
        const server = createServer((request, response) => {
          if (!engine.isUp) return request.socket.destroy()
          response.setHeader("content-type", "application/json")
          return response.end(JSON.stringify(answer({ results: rows(1, 3) })))
        }).listen(0, "127.0.0.1", () => {
          // It listens on a port, so its address is an object.
          const { port } = server.address() as AddressInfo
          resolve({ url: `http://127.0.0.1:${port}`, close: () => void server.close() })
        })
      })
  ),
  ({ close }) => Effect.sync(close)
)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-console-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const consoleService = Effect.gen(function* () {
  const { url } = yield* engineServer
  const file = join(yield* folder, "providers.json")
  const providers = { own: { type: "index" }, meta: { type: "searxng", url } }
  const targets = { alpha_search: [{ provider: "own" }], beta_search: [{ provider: "meta", engine: "google" }] }
  writeFileSync(file, JSON.stringify({ providers, targets }))
  return yield* Dashboard.start("postgres", {
    OPERATOR_CONSOLE: "on",
    QUARRY_PROVIDERS: file,
    WEBHOOKS_ALLOW_PRIVATE: "true"
  })
})

/** A group of tests of the console over one service on Postgres, where commands run beside the service. */
export const describeConsole = (name: string, tests: (it: Vitest.MethodsNonLive<Dashboard.Running>) => void): void =>
  describeWithPostgres(name, () =>
    describeWithChromium("in Chromium", () =>
      layer(Dashboard.Running.layer(consoleService), { timeout: "5 minutes" })("in one service", tests)
    )
  )

/** Runs a command of the operator on the service's database, and returns its JSON. */
export const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { env } = yield* (yield* Dashboard.Running).live
  const { code, stderr, stdout } = yield* command(env, ...args, "--json")
  assert.strictEqual(code, 0, stderr)
  // The console of a test keeps the lines of its earlier commands.
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "")
})

export interface Operator extends Dashboard.Person {
  /** Each replaces a code of the app once. */
  readonly recoveryCodes: Array<string>
}

/** Somebody who has just signed up and set up an authenticator app. */
export const withFactor = Effect.fnUntraced(function* (options?: Dashboard.VisitOptions) {
  const person = yield* Dashboard.signedIn(options)
  const recoveryCodes = yield* Effect.promise(async () => {
    const { json } = await person.call("POST", "/api/auth/two-factor/enable", {})
    const verified = await person.call("POST", "/api/auth/two-factor/verify-totp", { code: codeOf(json.totpURI) })
    assert.strictEqual(verified.status, 200)
    return json.backupCodes as Array<string>
  })
  return { ...person, recoveryCodes } satisfies Operator
})

/** Somebody whom a command has made an operator. */
export const operator = Effect.fnUntraced(function* (
  role: "operator" | "observer" = "operator",
  options?: Dashboard.VisitOptions
) {
  const person = yield* withFactor(options)
  yield* run("operator", "add", "--email", person.email, "--role", role)
  return person
})

/** Opens a page of the console and waits for its heading. */
export const openPage = (person: Dashboard.Person, path: string, heading: string): Promise<void> =>
  person.open(`/dashboard/operator${path}`, heading)

/** Fills in the open dialog, acts, and returns the command that the dialog showed. */
export const perform = async (
  page: Page,
  words: string,
  fill: (dialog: Locator) => Promise<void> = async () => {}
): Promise<string> => {
  const dialog = page.getByRole("dialog")
  await dialog.waitFor()
  await fill(dialog)
  const line = await dialog.locator("pre").innerText()
  await dialog.getByRole("button", { name: words, exact: true }).click()
  await dialog.waitFor({ state: "detached" })
  await page.getByText(`${words} (`).last().waitFor()
  return line
}
