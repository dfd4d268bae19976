import { fileURLToPath } from "node:url"
import { Deferred, Effect, Redacted } from "effect"
import { freePort } from "../../support/Spawned.ts"
import { pepper } from "./Store.ts"
import * as Subprocess from "./Subprocess.ts"

const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))

const startMs = 60_000

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
}

/** A server process that listens and is killed with the scope. */
export const start = Effect.fnUntraced(function* (options: ReplicaOptions) {
  const port = yield* freePort
  const said: Array<string> = []
  const listening = yield* Deferred.make<void, Error>()
  const subprocess = yield* Subprocess.start(process.execPath, [program], {
    env: {
      PORT: String(port),
      ADMIN_PORT: "0",
      DATABASE_URL: Redacted.value(options.database),
      KEY_PEPPER: pepper,
      AUTH_SECRET: "a secret for tests, of 32 characters or more",
      SEARXNG_URL: options.engine,
      PROVIDER_TIMEOUT: "2 seconds",
      LOG_LEVEL: "warn",
      LOG_FORMAT: "json",
      ...options.env
    },
    onLine: (line) => {
      if (line.includes("Quarry listens")) Deferred.doneUnsafe(listening, Effect.void)
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
