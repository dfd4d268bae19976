import { Effect, Layer, Redacted } from "effect"
import * as Auth from "../../../src/layers/auth/Auth.ts"
import { ClientDocuments } from "../../../src/services/accounts/ClientDocuments.ts"
import { Credentials } from "../../../src/services/accounts/Credentials.ts"
import { Emails } from "../../../src/services/accounts/Emails.ts"
import { Invitations } from "../../../src/services/accounts/Invitations.ts"
import { Marketplace } from "../../../src/services/accounts/Marketplace.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import { found, providing, servicesOver, unlimited } from "../api/Services.ts"
import * as EmbeddedDatabase from "../stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../stores/SqlStorage.ts"

export const baseUrl = "http://quarry.test"
const storage = SqlStorage.layer(EmbeddedDatabase.layer)

/** The real sign-in and members, on a database. Fresh, because the services below contain such layers in memory. */
const people = Layer.fresh(Invitations.layer).pipe(
  Layer.provideMerge(
    Auth.layer({
      baseUrl,
      secrets: singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests")),
      signUp: { mode: "open", domains: [] },
      registrationsPerMinute: 60
    })
  ),
  Layer.provide([
    Layer.succeed(Emails, { delivers: false, send: () => Effect.void, deliver: () => Effect.void }),
    Layer.mock(ClientDocuments, {})
  ]),
  Layer.provide(storage)
)

export const services = Layer.fresh(Credentials.layer).pipe(
  Layer.provide(Layer.mock(Marketplace, {})),
  Layer.provideMerge(people),
  Layer.provideMerge(
    servicesOver(
      storage,
      providing(() => Effect.succeed(found(1))),
      { limiter: unlimited }
    )
  )
)
