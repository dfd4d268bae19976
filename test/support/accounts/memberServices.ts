import { assert } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Auth from "../../../src/layers/auth/Auth.ts"
import { AuthRoutes } from "../../../src/services/accounts/AuthRoutes.ts"
import { ClientDocuments } from "../../../src/services/accounts/ClientDocuments.ts"
import { Credentials } from "../../../src/services/accounts/Credentials.ts"
import { Emails } from "../../../src/services/accounts/Emails.ts"
import { Invitations } from "../../../src/services/accounts/Invitations.ts"
import { Marketplace } from "../../../src/services/accounts/Marketplace.ts"
import { Sessions } from "../../../src/services/accounts/Sessions.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import { found, providing, servicesOver, unlimited } from "../api/Services.ts"
import { makeEmail } from "../api/searches.ts"
import * as EmbeddedDatabase from "../stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../stores/SqlStorage.ts"
import { makeBrowser } from "./SignIn.ts"

export const baseUrl = "http://quarry.test"
export const secrets = singleKeyring(Redacted.make("a secret of at least thirty-two characters for tests"))
const storage = SqlStorage.layer(EmbeddedDatabase.layer)

export const emails = Layer.succeed(Emails, { delivers: false, send: () => Effect.void, deliver: () => Effect.void })

/** The real sign-in and members, on a database. Fresh, because the services below contain such layers in memory. */
const people = Layer.fresh(Invitations.layer).pipe(
  Layer.provideMerge(
    Auth.layer({
      baseUrl,
      secrets,
      signUp: { mode: "open", domains: [] },
      registrationsPerMinute: 60
    })
  ),
  Layer.provide([emails, Layer.mock(ClientDocuments, {})]),
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

/** A person who has signed up and confirmed the address, with the session's cookie. */
export const makePerson = Effect.gen(function* () {
  const email = yield* makeEmail
  const browser = makeBrowser()
  const site = { baseUrl, routes: yield* AuthRoutes }
  yield* browser.signUp(site, email)
  yield* Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update auth_users set email_verified = true where email = ${email}`
  )
  const sessions = yield* Sessions
  const token = browser.cookies.get(sessions.cookieName) ?? assert.fail("no session")
  const principal = yield* sessions.authenticate(Redacted.make(token))
  return { email, principal, cookie: `${sessions.cookieName}=${token}` }
})
