import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Redacted } from "effect"
import { freePort } from "../../support/Spawned.ts"
import { authSecret, pepper } from "../../support/SqlStorage.ts"
import * as Subprocess from "./Subprocess.ts"

const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))

/** What `npm start` gives Node, its heap's size above all. */
const flags: ReadonlyArray<string> = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"))
  .scripts.start.split(" ")
  .filter((word: string) => word.startsWith("--"))

/** Without these nothing starts on Postgres. */
export const secrets = { KEY_PEPPER: pepper, AUTH_SECRET: authSecret }

/** On a machine that does other work too. */
const startMs = 180_000

export interface Replica extends Subprocess.Subprocess {
  readonly url: string
  readonly port: number
  /** What it logged at `warn` and above, and whatever else it said, oldest first. */
  readonly said: ReadonlyArray<string>
}

export interface ReplicaOptions {
  readonly database: Redacted.Redacted
  readonly engine: string
  readonly env?: Record<string, string>
  /** Takes every line that it says once it listens; they are not kept in `said` then. */
  readonly onLine?: (line: string) => void
}

/** A server process that listens and is killed with the scope. */
export const start = Effect.fnUntraced(function* (options: ReplicaOptions) {
  const port = yield* freePort
  const said: Array<string> = []
  const listening = yield* Deferred.make<void, Error>()
  const subprocess = yield* Subprocess.start(process.execPath, [...flags, program], {
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
    }
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
