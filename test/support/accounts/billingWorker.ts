import { Effect, Layer, Redacted } from "effect"
import * as Polar from "../../../src/layers/billing/Polar.ts"
import * as BillingBooksSql from "../../../src/layers/sql/billing/BillingBooksSql.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { Reconciler } from "../../../src/services/billing/Reconciler.ts"
import { StoreClock } from "../../../src/services/StoreClock.ts"
import * as StandardSettings from "../../../src/testing/StandardSettings.ts"

/*
 * A process that only works on deliveries, so that a test can kill it at any time. It reports that it is ready, and
 * starts at the first byte of its input. Arguments: the database, and the adapter's options as JSON.
 */

const [url = "", options = "{}"] = process.argv.slice(2)
const { accessToken, webhookSecret, ...rest } = JSON.parse(options)

const layer = Reconciler.layer.pipe(
  Layer.provide([
    BillingBooksSql.layer,
    Polar.layer({
      ...rest,
      accessToken: Redacted.make(accessToken),
      webhookSecrets: [Redacted.make(webhookSecret)]
    })
  ]),
  Layer.provide(Postgres.layer({ url: Redacted.make(url), poolSize: 4 })),
  Layer.provide([StandardSettings.layer, StoreClock.own])
)

const work = Effect.gen(function* () {
  const reconciler = yield* Reconciler
  yield* reconciler.drainInbox
  process.stdout.write("ready\n")
  yield* Effect.promise(() => new Promise((resolve) => process.stdin.once("data", resolve)))
  return yield* Effect.forever(reconciler.drainInbox)
})

await Effect.runPromise(Effect.provide(work, layer))
