import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { gunzipSync } from "node:zlib"
import { Readability } from "@mozilla/readability"
import { Schema } from "effect"
import { parseHTML } from "linkedom"
import { readHtml as readForIndex } from "../../src/layers/index/PageText.ts"
import { readDocument } from "../../src/layers/pages/readDocument.ts"
import { score } from "./Score.ts"

/**
 * Measures how well the main text of pages is found, compared with the library alone and with `quarry index load`:
 * `npm run pages -- FOLDER`. The folder has `truth.json` (`{id: {url, text}}`) and `html/ID.html.gz`, like the halves of
 * the public article extraction benchmark.
 */

const { positionals, values } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } })
const [folder] = positionals
if (folder === undefined) throw new Error("Name a folder with truth.json and html/: npm run pages -- FOLDER")

const Truth = Schema.fromJsonString(
  Schema.Record(Schema.String, Schema.Struct({ url: Schema.String, text: Schema.String }))
)
const truth = Schema.decodeUnknownSync(Truth)(readFileSync(join(folder, "truth.json"), "utf8"))
const pages = Object.entries(truth).map(([id, { text, url }]) => ({
  judged: text,
  url: URL.canParse(url) ? url : `https://${url}`,
  bytes: new Uint8Array(gunzipSync(readFileSync(join(folder, "html", `${id}.html.gz`))))
}))

type Extract = (page: (typeof pages)[number]) => Promise<string>

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const read =
  (format: "markdown" | "text"): Extract =>
  async ({ bytes, url }) => {
    const result = await readDocument({ bytes, contentType: "text/html", url })
    return typeof result === "string" ? "" : result[format]
  }

const extractors: { readonly [name: string]: Extract } = {
  "GET /v1/page, text": read("text"),
  "GET /v1/page, Markdown": read("markdown"),
  "Readability alone": async ({ bytes }) =>
    new Readability(parseHTML(decode(bytes)).document).parse()?.textContent ?? "",
  "quarry index load": async ({ bytes }) => readForIndex(decode(bytes)).content
}

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0

console.log(
  `${pages.length} pages, ${Math.round(pages.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1024 / pages.length)} KiB on average\n`
)
console.log(
  "| Text of | Precision | Recall | F1 | ms p50 | ms p95 | Memory MiB |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)
for (const [name, extract] of Object.entries(extractors)) {
  if (values.only !== undefined && !name.includes(values.only)) continue
  // The first round compiles the code.
  for (const page of pages.slice(0, 20)) await extract(page)
  const times: Array<number> = []
  const pairs: Array<{ judged: string; extracted: string }> = []
  let memory = 0
  for (const page of pages) {
    const start = performance.now()
    const extracted = await extract(page)
    times.push(performance.now() - start)
    memory = Math.max(memory, process.memoryUsage().heapUsed)
    pairs.push({ judged: page.judged, extracted })
  }
  times.sort((one, other) => one - other)
  const { f1, precision, recall } = score(pairs)
  const figures = [precision, recall, f1].map((value) => value.toFixed(3))
  const costs = [quantile(times, 0.5), quantile(times, 0.95)].map((value) => value.toFixed(0))
  console.log(`| ${[name, ...figures, ...costs, (memory / 1024 / 1024).toFixed(0)].join(" | ")} |`)
}
