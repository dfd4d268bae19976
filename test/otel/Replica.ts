import { Effect, Redacted } from "effect"
import * as Engine from "../../torture/support/Engine.ts"
import * as Store from "../../torture/support/Store.ts"
import { freePort, startServer } from "../support/processes/Spawned.ts"
import { redisServer } from "../support/servers/RedisServer.ts"
import * as Database from "../support/stores/Database.ts"

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
  const adminPort = yield* freePort
  const { port, server } = yield* startServer({
    ...Database.settingsOf(url),
    REDIS_URL: Redacted.value(redis.url()),
    SEARXNG_URL: yield* Engine.start,
    ...settings,
    ADMIN_PORT: `${adminPort}`
  })
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
