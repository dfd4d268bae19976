import { parseArgs } from "node:util"
import { checkMutations } from "./mutations/mutations.ts"
import { shrink } from "./mutations/shrink.ts"
import { type Report, simulate } from "./simulate.ts"
import type { Options } from "./World.ts"

/*
 * npm run simulate -- --seed 7 --days 365 --replicas 4
 *
 * Simulates a deployment, and exits with 1 at the first broken promise. With --seconds it runs new seeds for that many
 * seconds of CPU. --twice compares the digests of two runs of each seed.
 */

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1" },
    seconds: { type: "string", default: "0" },
    days: { type: "string", default: "365" },
    replicas: { type: "string", default: "4" },
    customers: { type: "string", default: "1000" },
    requests: { type: "string", default: "60" },
    store: { type: "string", default: "memory" },
    events: { type: "string" },
    calm: { type: "boolean", default: false },
    log: { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    shrink: { type: "boolean", default: true },
    mutations: { type: "boolean", default: false },
    only: { type: "string" }
  },
  allowNegative: true
})

const startedAt = performance.now()
const elapsedMs = () => Math.round(performance.now() - startedAt)
/** CPU time, because other work on the machine barely affects it. */
const cpuSeconds = () => process.cpuUsage().user / 1_000_000

const store = values.store === "embedded" ? "embedded" : "memory"

const optionsOf = (seed: number): Options => ({
  seed,
  days: Number(values.days),
  replicas: Number(values.replicas),
  customers: Number(values.customers),
  requests: Number(values.requests),
  faults: !values.calm,
  store,
  maxEvents: values.events === undefined ? undefined : Number(values.events),
  write: values.log ? (line) => console.log(line) : undefined
})

const command = ({ customers, days, faults, maxEvents, replicas, requests, seed, store }: Options): string =>
  `npm run simulate -- --seed ${seed} --days ${days} --replicas ${replicas} --customers ${customers} ` +
  `--requests ${requests}${store === "embedded" ? " --store embedded" : ""}${faults ? "" : " --calm"}${maxEvents === undefined ? "" : ` --events ${maxEvents}`} --log`

const describe = ({ checks, digest, events, options, requests }: Report): string => {
  const promises = [...checks.values()].reduce((sum, count) => sum + count, 0)
  const years = ((options.customers * options.days) / 365).toFixed(1)
  return (
    `seed ${options.seed}: ${years} customer years, ${requests} requests, ${events} events, ${promises} checks of ` +
    `${checks.size} promises, ${digest} (${elapsedMs()} ms, ${cpuSeconds().toFixed(1)} s of CPU so far)`
  )
}

const explain = async (failed: Report): Promise<void> => {
  console.log(
    `seed ${failed.options.seed} breaks a promise after ${cpuSeconds().toFixed(1)} s of CPU: ${failed.failure}`
  )
  const report = values.shrink ? await shrink(failed) : failed
  if (report.failure !== failed.failure) console.log(`the smallest failure found: ${report.failure}`)
  console.log(report.tail.join("\n"))
  console.log(`again: ${command(report.options)}`)
}

/** Runs one seed. Returns true if all promises were kept. */
const run = async (seed: number): Promise<boolean> => {
  const report = await simulate(optionsOf(seed))
  if (report.failure !== undefined) {
    await explain(report)
    return false
  }
  console.log(describe(report))
  if (!values.twice) return true
  const again = await simulate(optionsOf(seed))
  const isSame = again.digest === report.digest
  if (!isSame) console.log(`seed ${seed} differs in its second run: ${again.digest}`)
  return isSame
}

const runAll = async (): Promise<boolean> => {
  const seconds = Number(values.seconds)
  // New seeds, which the output names. They need not be good random numbers.
  const first = values.seed === undefined && seconds > 0 ? Date.now() % 1_000_000_000 : Number(values.seed ?? 1)
  const count = seconds > 0 ? Number.POSITIVE_INFINITY : Number(values.seeds)
  for (let index = 0; index < count; index++) {
    if (!(await run(first + index))) return false
    if (seconds > 0 && cpuSeconds() > seconds) return true
  }
  return true
}

const isGood = values.mutations ? await checkMutations(store, values.only) : await runAll()
process.exitCode = isGood ? 0 : 1
