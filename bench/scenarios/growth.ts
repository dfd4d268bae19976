import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import { cpuMs, residentMb } from "../support/Cpu.ts"
import type { Measurement } from "../support/Measurement.ts"
import { alternate, measure } from "../support/Runs.ts"
import { alone, type Stage } from "../support/Stage.ts"
import { distinctSearches } from "./search.ts"

export const accounts: Scenario = {
  name: "accounts",
  measures: "a search, the stub at 0 ms, 64 connections, as accounts grow in number",
  run: (stage) =>
    Effect.gen(function* () {
      const measurements: Array<Measurement> = []
      for (const count of stage.scale.accountCounts) {
        const run = Effect.gen(function* () {
          const { secrets, subject } = yield* alone(stage, "quarry_bench_accounts", count)
          const work = { ...distinctSearches(stage), secrets: secrets.slice(0, maxSecrets) }
          return yield* alternate(stage, [subject], work, `${count.toLocaleString("en")} accounts`)
        })
        measurements.push(...(yield* Effect.scoped(run)))
      }
      return { measurements }
    })
}

/** Number of keys that searches are spread over. More would make the message to the load generator too large. */
const maxSecrets = 100_000

const openAtOnce = 200

/** Opens an idle connection, as in a client's pool: it has received one response. */
const idleConnection = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.write(`HEAD /openapi.json HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`)
      await once(socket, "data")
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

export const idle: Scenario = {
  name: "idle",
  measures:
    "a search, the stub at 0 ms, all accounts: 64 connections beside idle ones, and more connections that search",
  run: (stage) =>
    Effect.gen(function* () {
      const subject = yield* stage.quarry
      const measurements: Array<Measurement> = []
      const resident = new Map<string, number>()
      const noteResident = (variant: string) =>
        resident.set(variant, Math.max(resident.get(variant) ?? 0, ...subject.pids.map(residentMb)))
      yield* alternate({ ...stage, scale: { ...stage.scale, pairs: 0 } }, [subject], distinctSearches(stage))
      for (let pair = 1; pair <= stage.scale.pairs; pair++) {
        for (const count of stage.scale.idleConnections) {
          const run = Effect.gen(function* () {
            const [url = ""] = subject.urls
            yield* Effect.all(
              Array.from({ length: count }, () => idleConnection(url)),
              { concurrency: openAtOnce, discard: true }
            )
            const variant = `${count.toLocaleString("en")} idle`
            const measured = yield* measure(stage, subject, distinctSearches(stage), { variant, pair })
            noteResident(variant)
            return measured
          })
          measurements.push(yield* Effect.scoped(run))
        }
        for (const count of stage.scale.busyConnections) {
          const variant = `${count.toLocaleString("en")} searching`
          measurements.push(yield* measure(stage, subject, distinctSearches(stage, count), { variant, pair }))
          noteResident(variant)
        }
      }
      const figures = [...resident].map(([variant, value]) => ({ name: `resident, ${variant}`, value, unit: "MB" }))
      return { measurements, figures }
    })
}

const script = fileURLToPath(new URL("../../scripts/query-plans/load.sql", import.meta.url))

/**
 * Loads searches of ten thousand accounts over six months, as for docs/internals/query-plans.md. Vacuums them, because
 * otherwise autovacuum would read all of them at once during the measurement.
 */
const fill = (rows: number) => (databaseUrl: string) =>
  Effect.sync(() => {
    if (rows === 0) return
    const quietly = { env: { ...process.env, PGOPTIONS: "-c client_min_messages=warning" }, stdio: "ignore" } as const
    const psql = (...args: ReadonlyArray<string>) =>
      execFileSync("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", ...args, databaseUrl], quietly)
    psql("-v", `rows=${rows}`, "-f", script)
    psql("-c", "vacuum (freeze, analyze)")
  })

/** Waits until Postgres rests: a server that finds a log for the first time verifies it and counts its hours. */
const resting = ({ stores }: Stage) =>
  Effect.gen(function* () {
    const { postgres } = stores.pids
    if (postgres === undefined) return
    let busyMs = Number.POSITIVE_INFINITY
    while (busyMs > restingMs) {
      const before = cpuMs(postgres)
      yield* Effect.sleep("3 seconds")
      busyMs = cpuMs(postgres) - before
    }
  })

/** CPU time of Postgres in three seconds, more than the background work of an idle server takes. */
const restingMs = 150

export const log: Scenario = {
  name: "log",
  measures: "a search, the stub at 0 ms, 64 connections, all accounts, as the query log grows",
  run: (stage) =>
    Effect.gen(function* () {
      const measurements: Array<Measurement> = []
      for (const rows of stage.scale.logSizes) {
        const run = Effect.gen(function* () {
          const { secrets, subject } = yield* alone(stage, "quarry_bench_log", stage.scale.accounts, fill(rows))
          yield* resting(stage)
          const work = { ...distinctSearches(stage), secrets }
          return yield* alternate(stage, [subject], work, `${rows.toLocaleString("en")} searches logged`)
        })
        measurements.push(...(yield* Effect.scoped(run)))
      }
      return { measurements }
    })
}
