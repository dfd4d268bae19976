import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as WebhookClientNode from "../../../src/layers/webhooks/WebhookClientNode.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { Ids } from "../../../src/services/Ids.ts"
import { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import * as EventWork from "../../../src/services/webhooks/EventWork.ts"
import * as InMemory from "../../../src/testing/InMemory.ts"
import { makeAccount } from "../../support/api/searches.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import { describeWithPostgres, layer as postgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

/** A receiver that counts the posts that it has open, and answers them or not. */
const receiver = (answers: boolean) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; open: number; mostOpen: number; got: number; readonly close: () => void }>(
      (resume) => {
        const server = createServer((request, response) => {
          state.open += 1
          state.mostOpen = Math.max(state.mostOpen, state.open)
          response.on("close", () => {
            state.open -= 1
          })
          request.resume().on("end", () => {
            state.got += 1
            if (answers) response.writeHead(204).end()
          })
        }).listen(0, "127.0.0.1", () => {
          // It listens on a port, so its address is an object.
          state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
          resume(Effect.succeed(state))
        })
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        const state = { url: "", open: 0, mostOpen: 0, got: 0, close }
      }
    ),
    ({ close }) => Effect.sync(close)
  )

const anAccount = Effect.fnUntraced(function* (url: string, endpoints: number) {
  const books = yield* EventBooks
  const ids = yield* Ids
  const account = yield* makeAccount({ plan: "custom", quota: 10, concurrency: 5, cycleStart: 0 })
  const secret = Redacted.make(`whsec_${Buffer.alloc(32, 7).toString("base64")}`)
  for (let n = 0; n < endpoints; n++) {
    yield* books.addEndpoint(account.id, { id: yield* ids.make("whk_"), url, types: [], secret })
  }
  return account
})

/** A hundred deliveries for every endpoint that there is. */
const fillQueues = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    with event as (
      insert into events (id, account_id, type, cause, data, created_at)
      select 'evt_' || e.id, e.account_id, 'webhook.test', e.id, '{}', clock_timestamp() from webhook_endpoints e
      returning id, account_id, cause
    )
    insert into event_deliveries (id, event_id, account_id, endpoint_id, status, due_at, created_at)
    select 'dlv_' || gen_random_uuid(), id, account_id, cause, 'pending', to_timestamp(0), clock_timestamp()
    from event, generate_series(1, 100)`
)

/** Waits for a condition, for 30 seconds at most. */
const until = (isTrue: () => boolean) =>
  Effect.timeoutOption(Effect.repeat(Effect.sleep("20 millis"), { until: isTrue }), "30 seconds")

/** How long each of ten events takes to arrive, while the slots are under attack for longer than an attempt may take. */
const arrivals = Effect.fnUntraced(function* (replicas: number) {
  const silent = yield* receiver(false)
  const well = yield* receiver(true)
  for (let n = 0; n < 20; n++) yield* anAccount(silent.url, 10)
  yield* fillQueues
  const account = yield* anAccount(well.url, 1)
  const work = Array.from({ length: replicas }, () => Layer.provide(EventWork.layer(), SqlStorage.replica()))
  yield* Layer.build(Layer.mergeAll(Layer.empty, ...work))
  yield* until(() => silent.open >= 60)
  const times = []
  for (let n = 1; n <= 10; n++) {
    yield* (yield* Ledger).grant(account.id, 1, "thanks")
    const committedAt = yield* Clock.currentTimeMillis
    yield* until(() => well.got >= n)
    times.push((yield* Clock.currentTimeMillis) - committedAt)
    if (well.got < n) break
    yield* Effect.sleep("1500 millis")
  }
  return { times, silent, well }
})

const promises = <E>(database: Layer.Layer<SqlClient.SqlClient, E>, replicas: number) => {
  it.live(
    `R53: beside 20 accounts whose receivers never respond, an event arrives within 5 s (${replicas} replicas)`,
    () =>
      Effect.gen(function* () {
        const { silent, times, well } = yield* arrivals(replicas)
        console.log(`arrived after ${times.join(", ")} ms, beside up to ${silent.mostOpen} posts without a response`)
        assert.isBelow(Math.max(...times), 5_000)
        assert.strictEqual(well.got, times.length)
        assert.isAbove(silent.got, silent.mostOpen)
      }).pipe(
        Effect.provide(
          Layer.mergeAll(
            SqlStorage.layer(database),
            WebhookClientNode.layer({ allowsPrivate: true }),
            InMemory.eventEmails
          )
        )
      )
  )
}

describe("EventWork over sockets, embedded", () => promises(EmbeddedDatabase.layer, 1))
describeWithPostgres("EventWork over sockets, Postgres", () => {
  promises(postgres, 1)
  promises(postgres, 3)
})
