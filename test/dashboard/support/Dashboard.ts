import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { renewed } from "../../support/accounts/renewed.ts"
import { browser, describeWithChromium, type LiveBrowser } from "../../support/processes/Chromium.ts"
import { type Spawned, startServer } from "../../support/processes/Spawned.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import * as EmbeddedStore from "../../support/stores/EmbeddedStore.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

/**
 * The dashboard as people use it: the real service over HTTP, and Chromium. The files of a project of the dashboard share the
 * modules of their worker, and with them one browser and one service with default settings. Each test has its own person.
 */

export const password = "correct horse battery staple"

export type Store = "embedded" | "postgres"

const storeSettings = Effect.fnUntraced(function* (store: Store) {
  if (store === "embedded") return { DATA_DIR: yield* EmbeddedStore.directory }
  return settingsOf((yield* freshDatabase).url)
})

/** Makes hashes of passwords cheap in the service: each takes a tenth of a second by design, and each test signs up. */
const cheapPasswords = `--import=${new URL("../../support/accounts/cheapPasswords.ts", import.meta.url)}`

/** The service, until the scope ends. */
export const serve = Effect.fnUntraced(function* (store: Store, settings: Readonly<Record<string, string>> = {}) {
  const env = { TRUSTED_PROXY_HOPS: "1", ...(yield* storeSettings(store)), ...settings }
  // Chromium takes `localhost`, the origin's host, for a secure origin, which the clipboard needs.
  const { origin, port, server } = yield* startServer({ ...env, NODE_OPTIONS: cheapPasswords })
  return { origin, env: { ...env, PORT: `${port}` }, process: server }
})

/** Closed with the worker. Vitest has no hook for that: it sends a signal. */
const workerScope = Scope.makeUnsafe()
process.once("SIGTERM", () => {
  Effect.runPromise(Scope.close(workerScope, Exit.void)).finally(() => process.exit())
})

const worker = Effect.runSync(Scope.provide(browser, workerScope))

/** The service until the scope ends, and the worker's browser. */
export const start = Effect.fnUntraced(function* (store: Store, settings: Readonly<Record<string, string>> = {}) {
  return { ...(yield* serve(store, settings)), browser: worker } satisfies Dashboard
})

export interface Dashboard {
  readonly origin: string
  /** The settings of the service, with which commands of the operator find its database. */
  readonly env: Readonly<Record<string, string>>
  readonly process: Spawned
  readonly browser: LiveBrowser
}

const renewedService = (start: Effect.Effect<Dashboard, unknown, Scope.Scope>) =>
  renewed(start, ({ process }) => process.isRunning())

let shared: Promise<Effect.Effect<Dashboard>> | undefined

/** The worker's service with default settings on the embedded store. */
const sharedService = Effect.promise(() => {
  shared ??= Effect.runPromise(Scope.provide(renewedService(start("embedded")), workerScope))
  return shared
})

const layerOf = <R>(service: Effect.Effect<Effect.Effect<Dashboard>, never, R>) =>
  Layer.effect(
    Running,
    Effect.tap(
      Effect.map(service, (live) => ({ live })),
      ({ live }) => Effect.exit(live)
    )
  )

/** The service and the browser of a group of tests: started before them, and again if that failed or the service ended. */
export class Running extends Context.Service<Running, { readonly live: Effect.Effect<Dashboard> }>()("test/Running") {
  static readonly layer = (start: Effect.Effect<Dashboard, unknown, Scope.Scope>) => layerOf(renewedService(start))
}

/** A group of tests over one service and one browser. */
export const describeDashboard = (
  name: string,
  tests: (it: Vitest.MethodsNonLive<Running>) => void,
  store: Store = "embedded",
  settings: Readonly<Record<string, string>> = {}
): void => {
  const isDefault = store === "embedded" && Object.keys(settings).length === 0
  const running = isDefault ? layerOf(sharedService) : Running.layer(start(store, settings))
  // With a name, the layer ends after the group. Without one, each retry of a test counts as a test, so it ends too early.
  const group = () => layer(running, { timeout: "5 minutes" })("in one service", tests)
  const title = `${name}, on the ${store} store`
  if (store === "embedded") describeWithChromium(title, group)
  else describeWithPostgres(title, () => describeWithChromium("in Chromium", group))
}

let visitors = 0

/** Somebody who is signed in, with a browser of their own. */
export interface Person {
  readonly email: string
  readonly origin: string
  readonly context: BrowserContext
  readonly page: Page
  /** Opens a page of the dashboard and waits for its heading. */
  readonly open: (path: string, heading: string) => Promise<void>
  /** Calls a route of the API with the person's session. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Called>
  /** Makes a key and answers its secret. */
  readonly makeKey: (name: string) => Promise<{ readonly id: string; readonly secret: string }>
  /** Searches with a key, as a program does. */
  readonly search: (secret: string, query: string, parameters?: string) => Promise<void>
  /** Lets an error of the console pass that a test brings about. */
  readonly expectComplaint: (pattern: RegExp) => void
}

export interface Called {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape and asserts what it finds.
  readonly json: any
}

interface Complaints {
  readonly expected: Array<RegExp>
  readonly seen: Array<string>
}

/** Everything that a page may complain of: violations of its policy, errors of its console, errors of its script. */
const watch = (context: BrowserContext): Complaints => {
  const complaints: Complaints = { expected: [], seen: [] }
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.seen.push(message.text())
  })
  context.on("weberror", (error) => complaints.seen.push(error.error().message))
  return complaints
}

const caller =
  (context: BrowserContext, origin: string): Person["call"] =>
  async (method, path, body) => {
    const response = await context.request.fetch(`${origin}${path}`, {
      method,
      headers: { origin },
      ...(body === undefined ? {} : { data: body })
    })
    const text = await response.text()
    return { status: response.status(), json: text === "" ? undefined : JSON.parse(text) }
  }

export interface VisitOptions {
  readonly width?: number
  readonly scheme?: "light" | "dark"
  /** The zoom of the browser: 2 halves the width that pages see, as a zoom of 200 % does. */
  readonly zoom?: number
}

/** Somebody without a session. The test fails at its end when a page complained. */
export const visitor = Effect.fnUntraced(function* ({ scheme = "light", width = 1280, zoom = 1 }: VisitOptions = {}) {
  const { browser, origin } = yield* (yield* Running).live
  const number = ++visitors
  const context = yield* Effect.acquireRelease(
    Effect.promise(() =>
      browser.newContext({
        viewport: { width: width / zoom, height: 900 / zoom },
        deviceScaleFactor: zoom,
        colorScheme: scheme,
        reducedMotion: "reduce",
        // An address of its own, because attempts to sign in are counted by it.
        extraHTTPHeaders: { "x-forwarded-for": `10.0.${number >> 8}.${number & 255}` },
        permissions: ["clipboard-read", "clipboard-write"]
      })
    ),
    (context) => Effect.promise(() => context.close())
  )
  const complaints = watch(context)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      const unexpected = complaints.seen.filter((text) => !complaints.expected.some((it) => it.test(text)))
      assert.deepStrictEqual(unexpected, [], "the console of the browser")
    })
  )
  const page = yield* Effect.promise(() => context.newPage())
  const call = caller(context, origin)
  const person: Person = {
    email: `person${number}@example.com`,
    origin,
    context,
    page,
    open: async (path, heading) => {
      await page.goto(`${origin}${path}`)
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor()
    },
    call,
    makeKey: async (name) => (await call("POST", "/v1/api-keys", { name })).json,
    search: async (secret, query, parameters = "") => {
      await fetch(`${origin}/v1/query?query=${encodeURIComponent(query)}${parameters}`, {
        headers: { authorization: `Bearer ${secret}` }
      })
    },
    expectComplaint: (pattern) => void complaints.expected.push(pattern)
  }
  return person
})

/** Somebody who has just signed up. */
export const signedIn = Effect.fnUntraced(function* (options?: VisitOptions) {
  const person = yield* visitor(options)
  const { email } = person
  const { status } = yield* Effect.promise(() =>
    person.call("POST", "/api/auth/sign-up/email", { email, password, name: "A Person" })
  )
  assert.strictEqual(status, 200)
  return person
})

/** Counts the clicks of the person, over all documents that the page opens. */
export const countClicks = async (page: Page): Promise<() => number> => {
  let clicks = 0
  await page.exposeFunction("quarryClicked", () => {
    clicks++
  })
  await page.addInitScript("addEventListener('click', (event) => event.detail > 0 && quarryClicked(), true)")
  return () => clicks
}

/** Chooses an item of the menu with this name. */
export const choose = async (page: Page, menu: string, item: string): Promise<void> => {
  await page.getByRole("button", { name: menu, exact: true }).click()
  await page.getByRole("menuitem", { name: item, exact: true }).click()
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
}

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

/** The rules that can differ between color schemes, which change colors alone. */
const colorRules = ["color-contrast", "link-in-text-block"]

/** Loads axe into a page that has not got it yet: its source is half a megabyte. */
const ensureAxe = async (page: Page): Promise<void> => {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axeSource)
}

/** Describes violations alone: what passes is most of a page, and to describe it takes longer. */
const findViolations = (page: Page, within: string, runOnly: ReadonlyArray<string>) => {
  const options = JSON.stringify({ runOnly, resultTypes: ["violations"] })
  return page.evaluate<ReadonlyArray<Violation>>(
    `axe.run(${JSON.stringify({ include: [within] })}, ${options}).then((it) => it.violations)`
  )
}

/** Elements that differ in what axe looks at: name, classes, state, and which attributes they have. */
const kindsOf = (page: Page, within: string, onlyVisible: boolean): Promise<ReadonlyArray<string>> =>
  page.evaluate(`[...new Set([...document.querySelectorAll(${JSON.stringify(`${within}, ${within} *`)})]
    .filter((it) => !${onlyVisible} || it.checkVisibility()).map((it) =>
    it.tagName + Array.from(it.attributes, ({ name, value }) =>
      /^(class|role|type|data-|aria-(checked|current|disabled|expanded|hidden|invalid|pressed|selected))/.test(name)
        ? name + "=" + value : name).sort()))]`)

/** The kinds of elements in each place in which this worker has found no violation. */
const checkedKinds = new Map<string, ReadonlySet<string>>()

/** Runs a check if the page has an element of a kind that was not checked in this place before. */
const checkNewKinds = async (
  place: string,
  kinds: ReadonlyArray<string>,
  check: () => Promise<void>
): Promise<void> => {
  const before = checkedKinds.get(place) ?? new Set()
  if (kinds.every((kind) => before.has(kind))) return
  await check()
  checkedKinds.set(place, new Set([...before, ...kinds]))
}

/**
 * Checks the page as it is, or what a selector finds, against WCAG 2.2 AA in both color schemes, and its width. Runs axe
 * only if the page has an element of a kind that was not checked there before. Dark colors are checked at one width: an
 * element that is visible has the same colors at each.
 */
export const expectAccessible = async (page: Page, within = "html"): Promise<void> => {
  const path = new URL(page.url()).pathname.replaceAll(/[a-z]+_[0-9a-f]{32}/g, "ID")
  const place = `${path} ${within}`
  await checkNewKinds(`${place} ${page.viewportSize()?.width}`, await kindsOf(page, within, false), () =>
    expectNoViolations(page, within, "light", tags)
  )
  await checkNewKinds(`${place} dark`, await kindsOf(page, within, true), () =>
    expectNoViolations(page, within, "dark", colorRules)
  )
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
  assert.isAtMost(overflow, 0, "the page scrolls sideways")
}

const expectNoViolations = async (
  page: Page,
  within: string,
  colorScheme: "light" | "dark",
  rules: ReadonlyArray<string>
): Promise<void> => {
  // What is read again is paler than the contrast that text needs.
  await page.locator('[aria-busy="true"]:not(.button)').first().waitFor({ state: "detached" })
  await ensureAxe(page)
  await page.emulateMedia({ colorScheme })
  const found = (await findViolations(page, within, rules)).flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, html }) => `${colorScheme} ${id}: ${html.slice(0, 200)}\n${failureSummary}`)
  )
  assert.deepStrictEqual(found, [])
  await page.emulateMedia({ colorScheme: "light" })
}
