import { Effect, Redacted } from "effect"
import type * as Store from "../Store.ts"

/** Adds a webhook, and removes it with its deliveries when the scope closes. */
export const add = Effect.fnUntraced(function* ({ events, ids, sql }: Store.Store, accountId: string, url: string) {
  const id = yield* ids.make("whk_")
  const secret = Redacted.make(`whsec_${Buffer.alloc(32).toString("base64")}`)
  yield* Effect.acquireRelease(events.addEndpoint(accountId, { id, url, types: [], secret }), () =>
    Effect.ignore(events.removeEndpoint(accountId, id))
  )
  // The test's store has no fingerprint for the secret that it encrypts with, which the server needs to find the
  // secret.
  yield* sql`
    update webhook_endpoints set secret_key =
      (select fingerprint from secret_fingerprints where name = 'AUTH_SECRET' and role = 'current')
    where id = ${id}`
})
