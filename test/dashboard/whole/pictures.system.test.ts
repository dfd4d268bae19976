import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import * as Dashboard from "../support/Dashboard.ts"

/**
 * Compares pages with pictures of them, so that a broken layout fails. `npm run screenshots` makes the pictures again after
 * a change that is meant; look at each before you commit it. Text has the font that is shipped with the tests, and what
 * depends on the day is fixed or hidden.
 */

const folder = join(import.meta.dirname, "../support/pictures")
/**
 * DejaVu Sans with the characters of these pages only: Latin, Hebrew, punctuation, arrows and symbols. Any other character
 * has the font of the machine. `pyftsubset FONT --unicodes=… --layout-features='*' --hinting --legacy-kern` made them.
 */
const fonts = join(import.meta.dirname, "../support/fonts")
const isUpdate = process.env.QUARRY_UPDATE_PICTURES === "1"

/** A pixel differs where a channel differs by more. Other versions of Chromium smooth the edges of letters differently. */
const channelThreshold = 48
const maxDifferentShare = 0.01

const views: ReadonlyArray<readonly [name: string, path: string, heading: string]> = [
  ["overview", "", "Overview"],
  ["playground", "/playground?query=http+caching", "Playground"],
  ["log", "/log", "Log"],
  ["keys", "/keys", "API keys"],
  ["create-key", "/keys?create=browser", "API keys"],
  ["usage", "/usage", "Usage"],
  ["apps", "/apps", "Connected apps"],
  ["webhooks", "/webhooks", "Webhooks"],
  ["billing", "/billing", "Billing"],
  ["not-found", "/nothing", "Not found"]
]

const entry = (index: number) => ({
  id: `qry_${String(index).padStart(32, "0")}`,
  created_at: "2026-03-10T11:59:00.000Z",
  batch_id: null,
  key_id: null,
  kind: "search",
  target: "alpha_search",
  query: ["http caching", "מטמון של HTTP", "a query that is long enough for an ellipsis ".repeat(4)][index % 3],
  geo: "us",
  locale: "en-us",
  page: 1,
  num: 10,
  safe: "off",
  source: "api",
  status: ["ok", "upstream_timeout", "upstream_error"][index % 3],
  credits: 1,
  cached: index % 4 === 0,
  result_count: 10,
  duration_ms: 120 + index,
  request_id: null,
  row: null,
  host: null,
  reason: null,
  bytes: null
})

const queries = Array.from({ length: 6 }, (_, index) => entry(index))

const dataUrl = (type: string, path: string): string => `data:${type};base64,${readFileSync(path).toString("base64")}`

/** One font everywhere, no movement, and nothing that depends on the day. */
const style = `
  @font-face { font-family: Fixed; src: url(${dataUrl("font/ttf", join(fonts, "DejaVuSans.ttf"))}) }
  @font-face { font-family: Fixed; font-weight: 600 700; src: url(${dataUrl("font/ttf", join(fonts, "DejaVuSans-Bold.ttf"))}) }
  * { font-family: Fixed !important; caret-color: transparent !important; animation: none !important; transition: none !important }
  .plot svg, .spark, .page-header .lead, .stat span { visibility: hidden !important }
`

/** The share of pixels that differ, or 1 where the sizes differ. It is a string, because it runs in the browser. */
const compare = (one: string, other: string): string => `(async () => {
  const pixels = async (url) => {
    const image = new Image()
    image.src = url
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d")
    canvas.drawImage(image, 0, 0)
    return { width: image.width, height: image.height, data: canvas.getImageData(0, 0, image.width, image.height).data }
  }
  const [a, b] = [await pixels(${JSON.stringify(one)}), await pixels(${JSON.stringify(other)})]
  if (a.width !== b.width || a.height !== b.height) return 1
  let different = 0
  for (let i = 0; i < a.data.length; i += 4) {
    if ([0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > ${channelThreshold})) different++
  }
  return different / (a.data.length / 4)
})()`

const pngUrl = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString("base64")}`

const expectPicture = async (page: Page, blank: Page, name: string): Promise<string | undefined> => {
  await page.addStyleTag({ content: style })
  await page.evaluate("document.fonts.ready")
  await page.waitForTimeout(150)
  const taken = await page.screenshot()
  const path = join(folder, `${name}.png`)
  if (isUpdate) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, taken)
    return undefined
  }
  if (!existsSync(path)) return `${name} has no picture`
  const share = await blank.evaluate<number>(compare(pngUrl(readFileSync(path)), pngUrl(taken)))
  return share > maxDifferentShare ? `${name} differs in ${(share * 100).toFixed(1)} % of its pixels` : undefined
}

Dashboard.describeDashboard("the pictures", (it) => {
  it.effect("show each page as it was, at 1280 and 390 pixels", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { browser } = yield* (yield* Dashboard.Running).live
      yield* Effect.promise(async () => {
        const blank = await person.context.newPage()
        const found: Array<string> = []
        for (const [width, height] of [
          [1280, 900],
          [390, 844]
        ] as const) {
          const context = await browser.newContext({
            viewport: { width, height },
            bypassCSP: true,
            locale: "en-US",
            timezoneId: "UTC",
            reducedMotion: "reduce",
            storageState: await person.context.storageState()
          })
          // The dashboard takes the time from responses.
          await context.route("**/v1/**", async (route) => {
            const response = await route.fetch()
            await route.fulfill({ response, headers: { ...response.headers(), date: "Tue, 10 Mar 2026 12:00:00 GMT" } })
          })
          await context.route("**/v1/query/history**", (route) =>
            route.fulfill({ json: { queries, next_cursor: null } })
          )
          const page = await context.newPage()
          await page.clock.setFixedTime("2026-03-10T12:00:00Z")
          for (const [name, path, heading] of views) {
            await page.goto(`${person.origin}/dashboard${path}`)
            await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor()
            await page.waitForLoadState("networkidle")
            found.push((await expectPicture(page, blank, `${name}-${width}`)) ?? "")
          }
          await context.close()
        }
        assert.deepStrictEqual(
          found.filter((fault) => fault !== ""),
          []
        )
      })
    })
  )
})
