import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OperatorRole } from "../../../src/domain/operations/OperatorRole.ts"
import * as PeopleBetterAuth from "../../../src/layers/auth/PeopleBetterAuth.ts"
import * as DocumentIndexSql from "../../../src/layers/sql/index/DocumentIndexSql.ts"
import * as OperatorConsole from "../../../src/process/OperatorConsole.ts"
import { AccountRemoval } from "../../../src/services/accounts/AccountRemoval.ts"
import { Operators } from "../../../src/services/accounts/Operators.ts"
import { MinuteSeries } from "../../../src/services/operations/MinuteSeries.ts"
import { Overview } from "../../../src/services/operations/Overview.ts"
import { ProviderStates } from "../../../src/services/providers/ProviderStates.ts"
import { status } from "../api/status.ts"
import { baseUrl, emails, makePerson, services as memberServices, secrets } from "./memberServices.ts"

/** The services of the console over the real sign-in. Fresh, because those of the members remove people in memory. */
const services = Layer.mergeAll(
  Layer.fresh(AccountRemoval.layer),
  PeopleBetterAuth.layer({ baseUrl, secrets }),
  emails,
  DocumentIndexSql.layer,
  MinuteSeries.layer,
  Layer.succeed(Overview, { look: Effect.succeed(status({})) }),
  ProviderStates.layer
).pipe(Layer.provideMerge(memberServices))

/** With the console's routes. */
export const consoleServices = (networks?: ReadonlyArray<string>) =>
  OperatorConsole.served(networks).pipe(Layer.provideMerge(services))

export const addSecondFactor = Effect.fnUntraced(function* (personId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into auth_passkeys (id, user_id, public_key, credential_id, counter, device_type, backed_up, created_at)
    values (${personId}, ${personId}, '', ${personId}, 0, 'singleDevice', false, now())`
}, Effect.orDie)

/** Lets the person's sign-in be older than ten minutes. */
export const ageSignIn = Effect.fnUntraced(function* (personId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update auth_sessions set created_at = clock_timestamp() - interval '11 minutes' where user_id = ${personId}`
}, Effect.orDie)

/** A person of the console who signed in just now. */
export const makeConsoleUser = Effect.fnUntraced(function* (role: OperatorRole, hasSecondFactor = true) {
  const person = yield* makePerson
  yield* (yield* Operators).add(person.email, role, "test")
  if (hasSecondFactor) yield* addSecondFactor(person.principal.personId)
  return person
})
