import { acrossProcesses } from "../../services/telemetry/Instrument.ts"

/* Merges Prometheus metrics of processes: adds counters and histograms, and gauges as they define. */

interface Family {
  readonly type: string
  readonly head: ReadonlyArray<string>
  readonly samples: ReadonlyMap<string, number>
}

export type Metrics = ReadonlyMap<string, Family>

export const parse = (text: string): Metrics => {
  const metrics = new Map<string, Family>()
  let head: Array<string> = []
  let samples = new Map<string, number>()
  for (const line of text.split("\n")) {
    if (line === "") continue
    if (!line.startsWith("#")) {
      const end = line.lastIndexOf(" ")
      samples.set(line.slice(0, end), toNumber(line.slice(end + 1)))
      continue
    }
    head.push(line)
    const [, kind, name = "", type = ""] = line.split(" ")
    if (kind !== "TYPE") continue
    samples = new Map()
    metrics.set(name, { type, head, samples })
    head = []
  }
  return metrics
}

const toNumber = (text: string): number => Number(text.replace("Inf", "Infinity"))

const toText = (value: number): string => String(value).replace("Infinity", "Inf")

const add = (left: number, right: number): number => left + right

const ruleOf = (name: string, type: string): ((left: number, right: number) => number) => {
  if (type !== "gauge" || acrossProcesses(name) === "sum") return add
  return acrossProcesses(name) === "least" ? Math.min : Math.max
}

export const merge = (all: ReadonlyArray<Metrics>): Metrics => {
  const merged = new Map<
    string,
    { readonly type: string; readonly head: ReadonlyArray<string>; samples: Map<string, number> }
  >()
  for (const metrics of all) {
    for (const [name, { head, samples, type }] of metrics) {
      const family = merged.get(name)
      if (family === undefined) {
        merged.set(name, { type, head, samples: new Map(samples) })
        continue
      }
      const rule = ruleOf(name, type)
      for (const [sample, value] of samples) {
        const before = family.samples.get(sample)
        family.samples.set(sample, before === undefined ? value : rule(before, value))
      }
    }
  }
  return merged
}

/** Metrics to keep after a process ends. Without them a sum would drop, which looks like a counter reset. */
export const lasting = (metrics: Metrics): Metrics =>
  new Map(Array.from(metrics).filter(([, { type }]) => type !== "gauge"))

export const format = (metrics: Metrics): string =>
  Array.from(metrics.values(), ({ head, samples }) =>
    [...head, ...Array.from(samples, ([sample, value]) => `${sample} ${toText(value)}`), ""].join("\n")
  ).join("")
