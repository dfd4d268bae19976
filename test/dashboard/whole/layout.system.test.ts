import { assert } from "@effect/vitest"
import { Effect } from "effect"
import pg from "pg"
import type { Page } from "playwright-core"
import * as Dashboard from "../support/Dashboard.ts"

/**
 * The boxes of each page, measured in the browser: with an account of 10,000 searches and long names in both directions,
 * and with an empty account.
 */

const widths = [360, 390, 768, 1280, 1920, 3840]

const pages: ReadonlyArray<readonly [path: string, heading: string]> = [
  ["", "Overview"],
  ["/playground?query=http+caching", "Playground"],
  ["/playground?mode=bulk&topic=news", "Playground"],
  ["/playground?mode=page", "Playground"],
  ["/log", "Log"],
  ["/log?range=own&from=2020-01-01T00:00:00Z&kind=search", "Log"],
  ["/usage?group_by=key", "Usage"],
  ["/keys", "API keys"],
  ["/apps", "Connected apps"],
  ["/webhooks", "Webhooks"],
  ["/billing", "Billing"],
  ["/members", "Members"],
  ["/activity", "Activity"],
  ["/account", "Account"]
]

/**
 * Finds boxes that stick out of the window, controls that lie on each other, and text that is cut off without an ellipsis.
 * It is a string, because it runs in the browser with its globals. What scrolls by itself may be wider than its frame.
 */
const findFaults = `(() => {
  const scrolls = "pre, .code section, .table, .commands, .toasts, .skip, .hidden, svg"
  const name = (e) => e.tagName.toLowerCase() + "." + e.className + " “" + (e.textContent ?? "").trim().slice(0, 40) + "”"
  const seen = [...document.querySelectorAll("body *")].filter((e) =>
    e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.closest(scrolls) === null)
  const outside = seen.filter((e) => {
    const { left, right, width } = e.getBoundingClientRect()
    return width > 0 && (right > innerWidth + 1 || left < -1)
  })
  const cut = seen.filter((e) => {
    const style = getComputedStyle(e)
    return e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && style.overflowX !== "visible" &&
      style.overflowX !== "auto" && style.textOverflow !== "ellipsis" && !e.matches("input, select, textarea, dialog")
  })
  const wide = [...document.querySelectorAll(".table")].filter((e) => innerWidth <= 600 && e.scrollWidth > e.clientWidth + 1)
  const controls = [...document.querySelectorAll("a, button, input, select, textarea, summary")].filter((e) =>
    e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !e.matches(".choice input, .skip"))
  const overlapping = []
  for (const [index, a] of controls.entries()) for (const b of controls.slice(index + 1, index + 12)) {
    if (a.contains(b) || b.contains(a)) continue
    const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()]
    const x = Math.min(p.right, q.right) - Math.max(p.left, q.left)
    const y = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top)
    if (x > 2 && y > 2 && getComputedStyle(a).position === getComputedStyle(b).position) overlapping.push(name(a) + " and " + name(b))
  }
  return [
    ...outside.map((e) => "outside: " + name(e)),
    ...cut.map((e) => "cut: " + name(e)),
    ...wide.map((e) => "table scrolls: " + name(e)),
    ...overlapping.map((text) => "overlap: " + text)
  ].slice(0, 8)
})()`

const faultsOf = (page: Page): Promise<ReadonlyArray<string>> => page.evaluate(findFaults)

const measure = async (person: Dashboard.Person): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const [path, heading] of pages) {
    await person.page.setViewportSize({ width: 1280, height: 900 })
    await person.open(`/dashboard${path}`, heading)
    await person.page.waitForLoadState("networkidle")
    for (const width of widths) {
      await person.page.setViewportSize({ width, height: 900 })
      await person.page.waitForTimeout(60)
      found.push(...(await faultsOf(person.page)).map((fault) => `${width} px ${path || "/"} ${fault}`))
    }
  }
  return found
}

const longName = "a name of one hundred characters ".repeat(4).slice(0, 100)
const rightToLeft = "מפתח של הצוות בתל אביב"

/** Ten thousand searches of the account, some of which have long queries, in both directions. */
const addSearches = async (database: string, email: string): Promise<void> => {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rows } = await client.query("select id from accounts where email = $1", [email])
  await client.query("select queries_make_partitions(now() - interval '1 day', 3)")
  await client.query(
    `insert into queries (
       id, account_id, key_id, batch_id, target, query, geo, locale, page, num, safe, source, outcome, credits, cached,
       result_count, duration_ms, created_at)
     select 'qry_' || md5(n || $1), $1, null, null, 'alpha_search',
       case when n % 3 = 0 then repeat('x', 100) when n % 3 = 1 then repeat('מטמון ', 20) else 'query ' || n end,
       'us', 'en-us', 1, 10, 'off', case when n % 5 = 0 then repeat('source', 10) else 'api' end,
       case when n % 7 = 0 then 'upstream_timeout' else 'ok' end, 1, n % 4 = 0, 10, 300, now() - n * interval '1 second'
     from generate_series(1, 10000) as n`,
    [rows[0].id]
  )
  await client.end()
}

Dashboard.describeDashboard(
  "the layout",
  (it) => {
    it.effect("clips and overlaps no box, with 10,000 searches and names of 100 characters in both directions", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        const { env } = yield* (yield* Dashboard.Running).live
        yield* Effect.promise(async () => {
          await person.makeKey(longName)
          await person.makeKey("x".repeat(100))
          await person.makeKey(rightToLeft)
          await addSearches(env.DATABASE_URL ?? "", person.email)
          assert.deepStrictEqual(await measure(person), [])
          await person.open("/dashboard/log", "Log")
          await person.page.getByRole("link", { name: "Older" }).click()
          await person.page.getByRole("link", { name: "Newest" }).waitFor()
        })
      })
    )

    it.effect("notices a box that is too wide, and controls that lie on each other", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        yield* Effect.promise(async () => {
          await person.open("/dashboard/keys", "API keys")
          await person.page.evaluate("document.querySelector('h1').style.width = '3000px'")
          assert.include((await faultsOf(person.page)).join(), "outside: h1")
          await person.page.evaluate("document.querySelector('h1').style.width = ''")
          await person.page.evaluate(
            "document.querySelectorAll('.side nav a').forEach((e) => { e.style.marginTop = '-20px' })"
          )
          assert.include((await faultsOf(person.page)).join(), "overlap")
        })
      })
    )

    it.effect("clips and overlaps no box at a zoom of 200 %, on a screen and on a phone", () =>
      Effect.gen(function* () {
        for (const width of [1280, 780]) {
          const person = yield* Dashboard.signedIn({ width, zoom: 2 })
          yield* Effect.promise(async () => {
            await person.makeKey(longName)
            await person.call("GET", `/v1/query?query=${"unbroken".repeat(12)}`)
            const found: Array<string> = []
            for (const [path, heading] of pages) {
              await person.open(`/dashboard${path}`, heading)
              await person.page.waitForLoadState("networkidle")
              found.push(...(await faultsOf(person.page)).map((fault) => `${width} px ${path || "/"} ${fault}`))
            }
            assert.deepStrictEqual(found, [])
          })
        }
      })
    )

    it.effect("clips and overlaps no box of an account that has nothing", () =>
      Effect.gen(function* () {
        const person = yield* Dashboard.signedIn()
        yield* Effect.promise(async () => assert.deepStrictEqual(await measure(person), []))
      })
    )
  },
  "postgres"
)
