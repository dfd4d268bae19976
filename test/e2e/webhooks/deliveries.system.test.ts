import { createHmac, randomUUID } from "node:crypto"
import { Agent, request } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { cpuMs } from "../../../torture/support/Subprocess.ts"
import { fakePolar, webhookSecret } from "../../support/polar/FakePolar.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

type Headers = Readonly<Record<string, string>>

interface Post {
  readonly headers: Headers
  readonly body: string
  readonly status: number
}

const padding = "x".repeat(8_000)

/** A delivery of the size that the provider's have, about an order that nobody made. */
const bodyOf = (n: number): string =>
  JSON.stringify({ type: "order.paid", timestamp: "2026-11-22T00:00:00Z", data: { id: randomUUID(), n, padding } })

const signed = (body: string, id: string, seconds: number, secret = webhookSecret): Headers => ({
  "content-type": "application/json",
  "webhook-id": id,
  "webhook-timestamp": `${seconds}`,
  "webhook-signature": `v1,${createHmac("sha256", secret).update(`${id}.${seconds}.${body}`).digest("base64")}`
})

/** Every kind of forgery in turn, and one good delivery that is sent again and again. */
const posts = (count: number): ReadonlyArray<Post> => {
  const now = Math.floor(Date.now() / 1000)
  const good = bodyOf(0)
  const replayed = { headers: signed(good, "replayed", now), body: good, status: 202 }
  const forgeries: ReadonlyArray<(body: string, id: string) => Post> = [
    (body, id) => ({ body, headers: signed(body, id, now, "whsec_another"), status: 401 }),
    (body, id) => ({ body, headers: signed(body, id, now - 301), status: 401 }),
    (body, id) => ({ body, headers: signed(body, id, now + 3_600), status: 401 }),
    (body, id) => ({ body: `${body} `, headers: signed(body, id, now), status: 401 }),
    (body, id) => ({ body, headers: { ...signed(body, id, now), "webhook-id": `${id}x` }, status: 401 }),
    (body, id) => ({ body, headers: { "webhook-id": id, "webhook-timestamp": `${now}` }, status: 401 }),
    (body) => ({ body, headers: {}, status: 401 }),
    () => replayed
  ]
  return Array.from({ length: count }, (_, n) => forgeries[n % forgeries.length]?.(bodyOf(n), `e-${n}`) ?? replayed)
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

let posted = 0

/** An address of its own for each post, as a trusted proxy appends it: from one address the limit is reached first. */
const from = (): Headers => ({ "x-forwarded-for": `10.${++posted >> 16}.${(posted >> 8) & 255}.${posted & 255}` })

/** The status of a post. Not with `fetch`, whose own work would keep a core busy. */
const send = (port: number, { body, headers }: Post): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(
      { agent, port, host: "127.0.0.1", path: "/webhooks/billing", method: "POST", headers: { ...headers, ...from() } },
      (response) => response.resume().on("end", () => resolve(response.statusCode ?? 0))
    )
    sent.on("error", reject).end(body)
  })

const count = 10_000
const rejectedCount = 5_000

/** CPU time of a request with a wrong key, which tells how fast this machine is at this moment. */
const rejectedKeyMs = (port: number, pid: number) =>
  Effect.promise(async () => {
    const before = cpuMs(pid)
    const one = () =>
      new Promise<void>((resolve, reject) => {
        const headers = { authorization: "Bearer wrong", ...from() }
        const sent = request({ agent, port, host: "127.0.0.1", path: "/v1/me", headers }, (response) =>
          response.resume().on("end", resolve)
        )
        sent.on("error", reject).end()
      })
    await Promise.all(Array.from({ length: rejectedCount }, one))
    return (cpuMs(pid) - before) / rejectedCount
  })

/** The fastest of some good deliveries, one after the other, to be stored and answered: the machine may be busy. */
const fastestMs = (port: number) =>
  Effect.promise(async () => {
    const times: Array<number> = []
    for (let n = 0; n < 51; n++) {
      const body = bodyOf(n)
      const post = { body, headers: signed(body, randomUUID(), Math.floor(Date.now() / 1000)), status: 202 }
      const startedAt = performance.now()
      assert.strictEqual(await send(port, post), post.status)
      times.push(performance.now() - startedAt)
    }
    return Math.min(...times)
  })

describeWithPostgres("POST /webhooks/billing", () => {
  it.live(
    "R37: ten thousand forged or replayed posts leave no row and no credit, and cost less than 1 ms of CPU each",
    () =>
      Effect.gen(function* () {
        const { url } = yield* freshDatabase
        const fake = yield* fakePolar()
        const { port, server } = yield* startServer({
          ...settingsOf(url),
          TRUSTED_PROXY_HOPS: "1",
          ...fake.environment()
        })
        const all = posts(count)
        for (const post of all.slice(0, 200)) yield* Effect.promise(() => send(port, post))
        const rejectedMs = yield* rejectedKeyMs(port, server.pid)
        const before = cpuMs(server.pid)
        const wrong = yield* Effect.promise(async () => {
          const statuses = await Promise.all(all.map((post) => send(port, post)))
          return statuses.filter((status, n) => status !== all[n]?.status).length
        })
        const msEach = (cpuMs(server.pid) - before) / count
        const tables = yield* Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`select
            (select array_agg(delivery_id) from billing_inbox) as inbox,
            (select count(*)::int from billing_orders) as orders,
            (select count(*)::int from ledger_entries) as entries`
        ).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 })))
        assert.deepStrictEqual(tables, [{ inbox: ["replayed"], orders: 0, entries: 0 }])
        assert.strictEqual(wrong, 0)
        // A slow machine needs more: this one is compared with itself.
        assert.isBelow(msEach, Math.max(1, 4 * rejectedMs))
        assert.isBelow(yield* fastestMs(port), 50)
        server.kill("SIGTERM")
        // A busy machine makes some of its own; forged posts make none.
        const warnings = (yield* server.ended).stdout.match(/"level":"(?:WARN|ERROR)"/g) ?? []
        assert.isBelow(warnings.length, count / 100)
      }),
    180_000
  )
})
