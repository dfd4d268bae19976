import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promtool } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

/** The metrics of each instance at one scrape; undefined where it did not answer. */
export type Scrape = Readonly<Record<string, string | undefined>>

/** The minutes before the fault, in which nothing happens. */
const quietMinutes = 75

const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/gm

const isUsed = (name: string) => Shipped.rules.some(({ expr }) => expr.includes(name))

/** The values of each series at each scrape, by name and labels, with those labels that Prometheus adds. */
const seriesOf = (scrapes: ReadonlyArray<Scrape>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const series = new Map<string, Array<string>>()
  const add = (name: string, at: number, value: string) => {
    const values = series.get(name) ?? scrapes.map(() => "_")
    values[at] = value
    series.set(name, values)
  }
  for (const [at, scrape] of scrapes.entries()) {
    for (const [instance, text] of Object.entries(scrape)) {
      const target = `job="quarry",instance="${instance}"`
      add(`up{${target}}`, at, text === undefined ? "0" : "1")
      for (const [, name = "", labels, value = ""] of (text ?? "").matchAll(sample)) {
        if (isUsed(name)) add(`${name}{${labels === undefined ? "" : `${labels},`}${target}}`, at, value)
      }
    }
  }
  return series
}

/**
 * The alerts of the shipped rules that fire after the last scrape, as Prometheus's own tool finds them. The scrapes count
 * as a minute apart each, after a time in which the first stayed as it was. A fault of minutes is made in seconds so.
 */
export const firing = (scrapes: ReadonlyArray<Scrape>): ReadonlyArray<string> => {
  const input = [...seriesOf(scrapes)].map(([series, [first = "_", ...others]]) => ({
    series,
    values: `${first}x${quietMinutes} ${others.join(" ")}`
  }))
  const minutes = quietMinutes + scrapes.length - 1
  const directory = mkdtempSync(join(tmpdir(), "quarry-alerts-"))
  try {
    const alerts = Shipped.rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]))
    const test = {
      rule_files: [`${Shipped.directory}prometheus/rules.yml`],
      evaluation_interval: "15s",
      group_eval_order: ["quarry-objectives", "quarry-burn", "quarry-causes"],
      tests: [
        {
          interval: "1m",
          input_series: input,
          // The tool lists what fires where nothing is expected to.
          alert_rule_test: alerts.map((alertname) => ({ eval_time: `${minutes}m`, alertname }))
        }
      ]
    }
    // JSON is YAML.
    writeFileSync(join(directory, "test.yml"), JSON.stringify(test))
    const complaints = promtool.complaints(["test", "rules", join(directory, "test.yml")])
    return [
      ...new Set(Array.from(complaints.matchAll(/Labels:\{alertname="(\w+)"/g), ([, name = ""]) => name))
    ].toSorted()
  } finally {
    rmSync(directory, { recursive: true })
  }
}
