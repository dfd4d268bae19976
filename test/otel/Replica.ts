import { Effect, Redacted } from "effect"
import * as Engine from "../../torture/support/Engine.ts"
import * as Store from "../../torture/support/Store.ts"
import { freePort, spawned } from "../support/processes/Spawned.ts"
import { redisServer } from "../support/servers/RedisServer.ts"
import * as Database from "../support/stores/Database.ts"
import { pepper } from "../support/stores/SqlStorage.ts"

/** The key of a new account. The operator's commands would be two processes. */
const keyOn = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const { accounts, keys } = yield* Store.open(url)
  const { id } = yield* accounts.create({ email: "a@example.org", plan: "business" })
  const { secret } = yield* keys.create(id, { label: "ci", mode: "live" })
  return Redacted.value(secret)
}, Effect.scoped)

/** A running replica on a database, a Redis and an engine of the test's own, with the key of an account. */
export const start = Effect.fnUntraced(function* (settings: Record<string, string> = {}) {
  const { name, url } = yield* Database.freshDatabase
  const redis = yield* redisServer
  const [port, adminPort] = [yield* freePort, yield* freePort]
  const env = {
    DATABASE_URL: Redacted.value(url),
    REDIS_URL: Redacted.value(redis.url()),
    AUTH_SECRET: "a secret for tests, of 32 characters or more",
    KEY_PEPPER: pepper,
    LOG_FORMAT: "json",
    SEARXNG_URL: yield* Engine.start,
    ...settings
  }
  const server = yield* spawned("src/main.ts", [], { ...env, PORT: `${port}`, ADMIN_PORT: `${adminPort}` })
  yield* server.said("Quarry listens at ")
  const secret = yield* keyOn(url)
  const send = (path: string, body?: unknown, key: string = secret) =>
    Effect.promise(async () => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream"
      }
      const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return { status: response.status, text: await response.text() }
    })
  /** The metrics at its private listener; undefined where it does not answer. */
  const metrics = Effect.promise(async () => {
    try {
      return await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    } catch {
      return undefined
    }
  })
  return { metrics, name, redis, send, server, url }
})
