import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Exit, Redacted, Ref, Schema, Scope } from "effect"
import { temporaryDirectory } from "../../test/support/processes/Spawned.ts"
import { secrets } from "../../torture/support/Replica.ts"
import * as Store from "../../torture/support/Store.ts"
import * as Subprocess from "../../torture/support/Subprocess.ts"
import * as Deployment from "../support/Deployment.ts"

/* Three replicas behind HAProxy and the operator's shell, as the tasks of the book need them. */

const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url))

/** Replicas and the operator's shell share these settings; a task that changes one restarts the replicas. */
interface Settings extends Record<string, string> {
  readonly KEY_PEPPER: string
  readonly AUTH_SECRET: string
}

const me = Schema.decodeUnknownSync(Schema.Struct({ plan: Schema.String, credits_available: Schema.Int }))

export const make = Effect.gen(function* () {
  const database = yield* Deployment.postgres
  const deployment = yield* Deployment.make({ database, front: "haproxy" })
  const { redis, store } = deployment
  const directory = yield* temporaryDirectory
  const settings = yield* Ref.make<Settings>({
    ...secrets,
    DATABASE_URL: Redacted.value(database.url),
    REDIS_URL: Redacted.value(redis.url())
  })
  const replicas = yield* Ref.make<ReadonlyArray<Deployment.DeployedReplica>>(deployment.replicas)
  const life = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))

  /** Runs a command of the book with the present settings. Returns what it prints; a failure of it fails the task. */
  const quarry = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string> = {}) {
    const lines: Array<string> = []
    const child = yield* Subprocess.start(process.execPath, [cli, ...args], {
      env: { SEARXNG_URL: deployment.engine, ...(yield* Ref.get(settings)), ...env },
      onLine: (line) => lines.push(line)
    })
    const code = yield* child.ended
    const text = lines.slice(0, -1).join("\n")
    if (code !== 0) return yield* Effect.fail(new Error(`quarry ${args[0]} ${args[1]} ended with ${code}: ${text}`))
    return text
  }, Effect.scoped)

  const start = Effect.fnUntraced(function* (host: string, version?: string) {
    return yield* deployment.startOn(host, yield* Ref.get(settings), version).pipe(Scope.provide(life))
  })

  /** Replaces one replica after the other, in order, by one with the present settings. */
  const roll = Effect.fnUntraced(function* (version?: string) {
    for (const replica of yield* Ref.get(replicas)) {
      replica.signal("SIGTERM")
      const code = yield* replica.ended
      if (code !== 0) return yield* Effect.fail(new Error(`${replica.host} ended with ${code}`))
      const next = yield* start(replica.host, version)
      yield* Ref.update(replicas, (all) => all.map((it) => (it.host === next.host ? next : it)))
    }
  })

  /** Calls a replica itself, past the proxy. */
  const call = (url: string, path: string, secret: string) =>
    Effect.promise(async () => {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${secret}` } })
      const json: unknown = await response.json()
      return { status: response.status, json }
    })

  return {
    ...{ deployment, database, store, directory, redis, settings, quarry, start, roll, call },
    /** The address of the first replica. */
    url: deployment.replicas[0].url,
    change: (changed: Record<string, string>) => Ref.update(settings, (before) => ({ ...before, ...changed })),
    /** An account beside those that search, on which the operator acts. */
    subject: yield* Store.customer(store, { quota: 1_000, packs: 10 }),
    me: (url: string, secret: string) => Effect.map(call(url, "/v1/me", secret), ({ json }) => me(json)),
    write: (name: string, text: string) =>
      Effect.sync(() => {
        const file = join(directory, name)
        writeFileSync(file, text)
        return file
      })
  }
})

export type Site = Effect.Success<typeof make>
