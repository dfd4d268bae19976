import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { pepper } from "../../test/support/stores/SqlStorage.ts"

/** The target of the load: one or several processes that share a database. */
export interface Subject {
  readonly name: string
  readonly urls: ReadonlyArray<string>
  readonly pids: ReadonlyArray<number>
  /** Number of processes that search, if they are children of `pids`. Defaults to the number of `pids`. */
  readonly processes?: number
}

/** The servers that both sides use. */
export interface Ground {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly stubUrl: string
  /** Quarry's provider file, with the stub behind every target. */
  readonly providerFile: string
}

const root = fileURLToPath(new URL("../../", import.meta.url))
const startTimeoutMs = 60_000

/** Starts the server with the flags of `npm start`, so that the benchmark measures what operators run. */
const startCommand = (): ReadonlyArray<string> => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    readonly scripts: { readonly start: string }
  }
  const flags = scripts.start.split(" ").filter((word) => word.startsWith("--"))
  // Quarry sets the last flag itself (`src/main.ts`). The other servers need it too.
  return [...flags, "--no-allocation-site-pretenuring", "src/main.ts"]
}

/** Starts a Node process. Its stdout is discarded, so that the access log costs only the time to write it. */
export const node = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [...args], {
        cwd: root,
        env: {
          PATH: process.env.PATH,
          NODE_ENV: "production",
          DRAIN_DELAY: "0",
          NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS,
          NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
          ...env
        },
        stdio: ["ignore", "ignore", "inherit"]
      })
    ),
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill("SIGTERM")
        await once(child, "exit")
      })
  )

const answers = async (url: string): Promise<boolean> => {
  try {
    const response = await fetch(url)
    await response.body?.cancel()
    return response.status < 500
  } catch {
    return false
  }
}

/** Waits until the address responds, and returns the time since `startedAt`. */
const ready = (child: ChildProcess, url: string, startedAt: number) =>
  Effect.promise(async () => {
    while (!(await answers(url))) {
      if (child.exitCode !== null) throw new Error(`a process that is measured ended with ${child.exitCode}`)
      if (performance.now() - startedAt > startTimeoutMs) throw new Error(`${url} does not answer`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return performance.now() - startedAt
  })

export interface Started {
  readonly url: string
  readonly pid: number
  /** Time from the start of the process until it was ready for requests. */
  readonly startMs: number
}

/** One replica of Quarry as an operator runs it. */
export const quarryReplica = Effect.fnUntraced(function* (ground: Ground, env: Readonly<Record<string, string>> = {}) {
  const port = yield* freePort
  const adminPort = yield* freePort
  const startedAt = performance.now()
  const child = yield* node(startCommand(), {
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: ground.redisUrl,
    QUARRY_PROVIDERS: ground.providerFile,
    KEY_PEPPER: pepper,
    AUTH_SECRET: "a secret for the benchmark, of 32 characters",
    ...env
  })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const startMs = yield* ready(child, `${adminUrl}/readyz`, startedAt)
  return { url: `http://127.0.0.1:${port}`, adminUrl, pid: child.pid ?? -1, startMs }
})

export const quarry = Effect.fnUntraced(function* (
  ground: Ground,
  options: { readonly replicas?: number; readonly env?: Readonly<Record<string, string>> } = {}
) {
  const { env, replicas = 1 } = options
  const started = yield* Effect.all(
    Array.from({ length: replicas }, () => quarryReplica(ground, env)),
    { concurrency: "unbounded" }
  )
  const subject: Subject = {
    name: replicas === 1 ? "quarry" : `quarry × ${replicas}`,
    urls: started.map(({ url }) => url),
    pids: started.map(({ pid }) => pid)
  }
  return subject
})

/** Starts several processes behind one port (`WORKERS`). */
export const workers = Effect.fnUntraced(function* (ground: Ground, processes: number) {
  const { pid, url } = yield* quarryReplica(ground, { WORKERS: `${processes}` })
  const subject: Subject = { name: `WORKERS=${processes}`, urls: [url], pids: [pid], processes }
  return subject
})

/** The baseline's ledger: separate statements in transactions, or one statement for each phase. */
export type BaselineLedger = "transactions" | "statements"

export const baselineProcess = Effect.fnUntraced(function* (ground: Ground, ledger: BaselineLedger) {
  const port = yield* freePort
  const startedAt = performance.now()
  // The same memory limits as Quarry's.
  const child = yield* node([...startCommand().slice(0, -1), "bench/baseline/main.ts"], {
    PORT: String(port),
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: ground.redisUrl,
    SEARXNG_URL: ground.stubUrl,
    KEY_PEPPER: pepper,
    BASELINE_LEDGER: ledger
  })
  const url = `http://127.0.0.1:${port}`
  const startMs = yield* ready(child, `${url}/v1/query`, startedAt)
  const started: Started = { url, pid: child.pid ?? -1, startMs }
  return started
})

export const baseline = Effect.fnUntraced(function* (ground: Ground, ledger: BaselineLedger) {
  const { pid, url } = yield* baselineProcess(ground, ledger)
  const subject: Subject = {
    name: ledger === "transactions" ? "baseline" : "baseline (CTEs)",
    urls: [url],
    pids: [pid]
  }
  return subject
})

/** The floor uses Quarry's database, but another Redis database number, so that their rate limits stay separate. */
export const floor = Effect.fnUntraced(function* (ground: Ground) {
  const port = yield* freePort
  const startedAt = performance.now()
  const child = yield* node([...startCommand().slice(0, -1), "bench/floor/main.ts"], {
    PORT: String(port),
    DATABASE_URL: ground.databaseUrl,
    REDIS_URL: `${ground.redisUrl}/1`,
    SEARXNG_URL: ground.stubUrl,
    KEY_PEPPER: pepper
  })
  const url = `http://127.0.0.1:${port}`
  yield* ready(child, `${url}/v1/query`, startedAt)
  const subject: Subject = { name: "floor", urls: [url], pids: [child.pid ?? -1] }
  return subject
})
