import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { freshDatabase } from "../../test/support/stores/Database.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import * as Client from "../support/Client.ts"
import * as LogMeter from "../support/costs/LogMeter.ts"
import * as Engine from "../support/Engine.ts"
import { Findings } from "../support/Findings.ts"
import type { Tally } from "../support/hostile/attacks.ts"
import * as Pace from "../support/Pace.ts"
import * as Replica from "../support/Replica.ts"
import * as Store from "../support/Store.ts"
import * as Subprocess from "../support/Subprocess.ts"

const perSecond = 100
/** Lower in the short form, which runs on busy machines: the load generator itself must be able to keep the pace. */
const shortPerSecond = 30
const maxMib = 700
const maxLineBytes = 8 * 1024
/** Attackers and engines share the processors with the server, so a p99 below this proves nothing. */
const p99FloorMs = 50
/** Time for Node to compile hot code. */
const warmUpSeconds = 3
const demoOrigin = "https://demo.test"
const attackerAddresses = Array.from({ length: 16 }, (_, n) => `127.0.1.${n + 1}`)

const programOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** Honest searches have a separate engine, because the attack is on the server and not on its engines. */
const providersOf = (honest: string, hostile: string) => ({
  providers: {
    honest: { type: "searxng", url: honest },
    large: { type: "searxng", url: hostile },
    many: { type: "serpapi", url: hostile, apiKey: "key" },
    deep: { type: "openserp", url: hostile },
    own: { type: "index" }
  },
  targets: {
    alpha_search: [{ provider: "honest", engine: "google" }],
    beta_search: [{ provider: "large", engine: "bing" }],
    epsilon_search: [{ provider: "many" }, { provider: "own" }],
    delta_search: [{ provider: "deep" }, { provider: "own" }],
    zeta_search: [{ provider: "own" }]
  }
})

const writeProviders = Effect.fnUntraced(function* (honest: string, hostile: string) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "quarry-torture-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const path = join(directory, "providers.json")
  writeFileSync(path, JSON.stringify(providersOf(honest, hostile)))
  return path
})

const loadIndex = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const said: Array<string> = []
  const arguments_ = ["index", "load", programOf("../../data/starter-index.jsonl.gz")]
  const load = yield* Subprocess.start(process.execPath, [programOf("../../src/cli.ts"), ...arguments_], {
    env: { DATABASE_URL: Redacted.value(database), ...Replica.secrets },
    onLine: (line) => said.push(line)
  })
  if ((yield* load.ended) !== 0) return yield* Effect.fail(new Error(said.join("\n")))
})

/** Records the peak memory of a process until interrupted. */
const watchMemory = (pid: number) => {
  let peakMib = 0
  const look = Effect.sync(() => {
    peakMib = Math.max(peakMib, Subprocess.residentMib(pid) ?? 0)
  })
  return Effect.as(Effect.forkScoped(Effect.repeat(look, Schedule.spaced("100 millis"))), () => peakMib)
}

/** Runs all attacks at once. Returns the outcome of each. */
const attack = Effect.fnUntraced(function* (means: {
  readonly port: number
  readonly secret: string
  readonly seconds: number
}) {
  let last = "[]"
  const only = process.env.ATTACKS?.split(",").map(Number)
  const attacker = yield* Subprocess.start(
    process.execPath,
    [
      programOf("../support/hostile/attacker.ts"),
      JSON.stringify({ ...means, demoOrigin, addresses: attackerAddresses, ...(only === undefined ? {} : { only }) })
    ],
    {
      onLine: (line) => {
        if (line.startsWith("[")) last = line
        else if (!line.startsWith("ended with 0")) console.error(line)
      }
    }
  )
  if ((yield* attacker.ended) !== 0) return yield* Effect.fail(new Error("the attacker has failed"))
  const results: ReadonlyArray<{ readonly name: string; readonly tally: Tally }> = JSON.parse(last)
  return results
})

const lost = (answers: ReadonlyArray<Answer>) => answers.filter(({ status }) => status !== 200)

export const hostile: Scenario = {
  name: "hostile",
  promise: `all attacks at once, for a minute a round, take no answer from ${perSecond} honest searches a second, and the server stays under ${maxMib} MiB`,
  rounds: 5,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const database = yield* freshDatabase
    const store = yield* Store.open(database.url)
    yield* loadIndex(database.url)
    const engines = yield* Effect.all([Engine.start, Engine.start])
    const log = LogMeter.make()
    const replica = yield* Replica.start({
      database: database.url,
      engine: engines[0],
      env: {
        QUARRY_PROVIDERS: yield* writeProviders(...engines),
        DEMO_ORIGIN: demoOrigin,
        LOG_LEVEL: "info",
        PROVIDER_TIMEOUT: "15 seconds"
      },
      onLine: log.take
    })
    const client = yield* Client.make
    const customers = yield* Effect.replicateEffect(Store.customer(store, { quota: 1_000_000 }), 5)
    const attacker = yield* Store.customer(store, { quota: 1_000_000, concurrency: 100 })
    const peakMib = yield* watchMemory(replica.pid)
    const pace = short ? shortPerSecond : perSecond
    const honest = (seconds: number) => Pace.run({ client, replicas: [replica], customers, perSecond: pace, seconds })

    const seconds = short ? 15 : rounds * 60
    const warm = yield* honest(warmUpSeconds)
    const quiet = yield* honest(short ? 4 : 20)
    yield* findings.note(`in quiet: p99 ${Pace.p99(quiet)} ms, ${peakMib()} MiB`)
    const attacks = yield* Effect.forkScoped(attack({ port: replica.port, secret: attacker.secret, seconds }))
    const attacked = yield* honest(seconds)
    for (const { name, tally } of yield* Fiber.join(attacks)) {
      for (const what of Object.keys(tally).filter((it) => /\b500\b|failed itself/.test(it)))
        yield* findings.violation(`${name}: ${what}`)
      const outcomes = Object.entries(tally).map(([what, count]) => `${what}: ${count}`)
      yield* findings.note(`${name}: ${outcomes.sort().join(", ")}`)
    }
    const answers = [...warm, ...quiet, ...attacked]
    yield* findings.note(
      `under attack: p99 ${Pace.p99(attacked)} ms, ${lost(attacked).length} of ${attacked.length} lost (${Audit.tally(attacked)}), ${peakMib()} MiB at most`
    )
    yield* findings.note(`log: ${log.lines} lines, ${log.bytes} bytes, ${log.longest} in the longest`)

    if (!replica.isRunning()) return yield* findings.violation(`the process has ended: ${log.latest.join("\n")}`)
    if (lost(answers).length > 0)
      yield* findings.violation(`${lost(answers).length} honest searches were not answered 200`)
    const maxP99 = Math.max(p99FloorMs, 2 * Pace.p99(quiet))
    if (!short && Pace.p99(attacked) > maxP99) yield* findings.violation(`p99 is above ${maxP99} ms`)
    if (peakMib() > maxMib) yield* findings.violation(`it took ${peakMib()} MiB`)
    if (log.longest > maxLineBytes) yield* findings.violation(`a line of the log has ${log.longest} bytes`)
    for (const [error, count] of log.errors) yield* findings.violation(`logged ${count} times as an error: ${error}`)
    if (short) yield* Audit.endLeases(store)
    yield* Audit.holdsEnd(store)
    yield* Audit.audit(store, customers, answers)
  })
}
