import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Redacted } from "effect"
import { freePort } from "../../test/support/processes/Spawned.ts"
import { authSecret, pepper } from "../../test/support/stores/SqlStorage.ts"
import type { Report } from "./inside.ts"
import * as Subprocess from "./Subprocess.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const inside = fileURLToPath(new URL("inside.ts", import.meta.url))

/** Node's flags in `npm start`, above all the heap size. */
const flags: ReadonlyArray<string> = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  .scripts.start.split(" ")
  .filter((word: string) => word.startsWith("--"))

/** Secrets that a server on Postgres requires. */
export const secrets = { KEY_PEPPER: pepper, AUTH_SECRET: authSecret }

/** Long enough for a busy machine. */
const startMs = 180_000

export interface Replica extends Subprocess.Subprocess {
  readonly url: string
  readonly port: number
  /** Log lines at `warn` and above and other output, oldest first. */
  readonly said: ReadonlyArray<string>
}

export interface ReplicaOptions {
  readonly database: Redacted.Redacted
  readonly engine: string
  readonly env?: Record<string, string>
  /** The `src` directory of another version. */
  readonly version?: string
  /** Receives every line after startup, instead of `said`. */
  readonly onLine?: (line: string) => void
  /** Loads `inside.ts` into the server, which makes password hashes cheap, and receives its reports. */
  readonly onReport?: (report: Report) => void
}

/** A listening server process, killed with the scope. */
export const start = Effect.fnUntraced(function* (options: ReplicaOptions) {
  const port = yield* freePort
  const said: Array<string> = []
  const listening = yield* Deferred.make<void, Error>()
  const { onReport, version = root } = options
  const preload = onReport === undefined ? [] : ["--import", inside]
  const subprocess = yield* Subprocess.start(process.execPath, [...flags, ...preload, join(version, "src/main.ts")], {
    env: {
      PORT: String(port),
      ADMIN_PORT: "0",
      DRAIN_DELAY: "0",
      DATABASE_URL: Redacted.value(options.database),
      ...secrets,
      SEARXNG_URL: options.engine,
      PROVIDER_TIMEOUT: "2 seconds",
      LOG_LEVEL: "warn",
      LOG_FORMAT: "json",
      ...options.env
    },
    onLine: (line) => {
      if (line.includes("Quarry listens")) Deferred.doneUnsafe(listening, Effect.void)
      else if (options.onLine !== undefined && Deferred.isDoneUnsafe(listening)) options.onLine(line)
      else said.push(line)
    },
    onReport: onReport === undefined ? undefined : (line) => onReport(JSON.parse(line))
  })
  yield* subprocess.ended.pipe(
    Effect.flatMap((code) =>
      Deferred.fail(listening, new Error(`it ended with ${code}: ${said.slice(-5).join("\n")}`))
    ),
    Effect.forkScoped
  )
  yield* Deferred.await(listening).pipe(Effect.timeout(startMs))
  const replica: Replica = { ...subprocess, url: `http://127.0.0.1:${port}`, port, said }
  return replica
})
