import { assert, it } from "@effect/vitest"
import { Effect, type Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { mailServer } from "../../support/servers/MailServer.ts"
import { json, serve, text } from "../../support/servers/UpstreamServer.ts"
import { freshDatabase, settingsOf } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const person = { email: "person@example.com", password: "correct horse battery staple", name: "A Person" }

/** The receivers of a deployment: a customer's webhook, a mail server, and the payment provider. */
const receivers = Effect.gen(function* () {
  const hook = yield* serve(text("", 204))
  const mail = yield* mailServer("220 ready")
  const provider = yield* serve(json({ detail: "not today" }, 500))
  const mails = () => mail.said.filter((line) => line === "DATA").length
  return {
    hook,
    port: mail.port,
    provider,
    counts: () => ({ webhooks: hook.received.length, mails: mails(), payments: provider.received.length })
  }
})

/** A person with a browser at a server. */
const start = Effect.fnUntraced(function* (env: Record<string, string>) {
  const { origin, server } = yield* startServer(env)
  let cookie = ""
  const send = (method: "GET" | "POST", path: string, body?: object) =>
    Effect.promise(async () => {
      const headers = { origin, cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) }
      const response = await fetch(`${origin}${path}`, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body)
      })
      cookie = response.headers.getSetCookie()[0]?.split(";", 1).join("") ?? cookie
      return { status: response.status, text: await response.text() }
    })
  return { send, server }
})

const withSql = <A, E>(url: Redacted.Redacted, use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(SqlClient.SqlClient, use).pipe(Effect.provide(Postgres.layer({ url, poolSize: 1 }), { local: true }))

/** Leaves work for the background: an email, a delivery of the payment provider, a customer to remove, an expired hold, and an old month. */
const leaveWork = (url: Redacted.Redacted) =>
  withSql(url, (sql) =>
    Effect.gen(function* () {
      yield* sql`update auth_users set email_verified = true`
      yield* sql`insert into event_channels (name) values ('email') on conflict do nothing`
      yield* sql`
        insert into event_deliveries (id, event_id, account_id, status, due_at, created_at)
        select 'mail', id, account_id, 'pending', now(), now() from events limit 1`
      yield* sql`
        insert into billing_inbox (delivery_id, kind, object_kind, object_id, received_at, due_at)
        values ('msg_1', 'order.paid', 'order', 'ord_1', now(), now())`
      yield* sql`insert into billing_removals (customer_id, account_id, due_at) values ('cus_1', 'acc_gone', now())`
      yield* sql`
        insert into holds (id, account_id, allowance_id, from_quota, from_balance, expires_at)
        select 'hld_old', a.id, a.allowance_id, 1, 0, now() - interval '1 day' from accounts a`
      yield* sql`update allowances set used = used + 1`
      yield* sql`select queries_make_partitions('2020-01-15', 1)`
    })
  )

/** The work that is left: holds, and months of 2020. */
const leftIn = (url: Redacted.Redacted) =>
  withSql(
    url,
    (sql) => sql<{ readonly holds: number; readonly months: number }>`
      select (select count(*) from holds)::integer as holds,
        (select count(*) from pg_class where relname = 'queries_2020_01')::integer as months`
  ).pipe(Effect.map(([row]) => ({ ...row })))

describeWithPostgres("a server on a restored copy", () => {
  it.live(
    "R74: contacts nobody and changes nothing by itself with QUARRY_BACKGROUND=off, and catches up with it on",
    () =>
      Effect.gen(function* () {
        const { url } = yield* freshDatabase
        const { counts, hook, port, provider } = yield* receivers
        const env = { ...settingsOf(url), WEBHOOKS_ALLOW_PRIVATE: "true" }
        const before = yield* start({ ...env, QUARRY_BACKGROUND: "off" })
        assert.strictEqual((yield* before.send("POST", "/api/auth/sign-up/email", person)).status, 200)
        assert.strictEqual((yield* before.send("POST", "/v1/webhooks", { url: hook.url })).status, 201)
        assert.strictEqual((yield* before.send("GET", "/v1/usage")).status, 200)
        assert.strictEqual((yield* before.send("POST", "/v1/api-keys", { name: "a key" })).status, 201)
        before.server.kill("SIGTERM")
        yield* before.server.ended
        yield* leaveWork(url)

        const full = {
          ...env,
          SMTP_URL: `smtp://127.0.0.1:${port}`,
          EMAIL_FROM: "quarry@example.com",
          BILLING_PROVIDER: "polar",
          POLAR_ACCESS_TOKEN: "polar_oat_test",
          POLAR_WEBHOOK_SECRET: "polar_whs_a-secret-of-the-provider-for-tests",
          POLAR_BASE_URL: provider.url,
          POLAR_PRODUCT_STARTER: "1",
          POLAR_PRODUCT_GROWTH: "2",
          POLAR_PRODUCT_BUSINESS: "3",
          POLAR_PRODUCT_PACK: "4"
        }
        const copy = yield* start({ ...full, QUARRY_BACKGROUND: "off" })
        assert.include(yield* copy.server.said("QUARRY_BACKGROUND is off"), "QUARRY_BACKGROUND is off")
        assert.strictEqual((yield* copy.send("POST", "/api/auth/sign-in/email", person)).status, 200)
        const { text: listed } = yield* copy.send("GET", "/v1/webhooks")
        const [webhook] = JSON.parse(listed).webhooks
        assert.strictEqual((yield* copy.send("POST", `/v1/webhooks/${webhook.id}/test`)).status, 201)
        assert.strictEqual((yield* copy.send("POST", "/v1/api-keys", { name: "ci" })).status, 201)
        yield* copy.send("POST", "/api/auth/request-password-reset", { email: person.email })
        yield* copy.send("POST", "/api/auth/sign-up/email", { ...person, email: "another@example.com" })
        yield* Effect.sleep("20 seconds")
        assert.deepStrictEqual(counts(), { webhooks: 0, mails: 0, payments: 0 })
        assert.deepStrictEqual(yield* leftIn(url), { holds: 1, months: 1 })
        copy.server.kill("SIGTERM")
        yield* copy.server.ended

        yield* start(full)
        const isDone = Effect.map(leftIn(url), ({ holds, months }) => {
          const { mails, payments, webhooks } = counts()
          return webhooks >= 2 && mails >= 1 && payments >= 1 && holds === 0 && months === 0
        })
        yield* Effect.repeat(isDone, { until: (done) => done, schedule: Schedule.spaced("500 millis"), times: 60 })
        assert.isTrue(yield* isDone, JSON.stringify([counts(), yield* leftIn(url)]))
      }),
    { timeout: 180_000 }
  )
})
