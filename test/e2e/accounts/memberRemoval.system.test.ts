import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { dashboardHeader } from "../../../src/domain/accounts/CallingPage.ts"
import * as MembersBetterAuth from "../../../src/layers/auth/MembersBetterAuth.ts"
import * as PostgresSql from "../../../src/layers/sql/store/Postgres.ts"
import { Members } from "../../../src/services/accounts/Members.ts"
import { singleKeyring } from "../../../src/services/operations/Keyrings.ts"
import * as Apps from "../../support/accounts/Apps.ts"
import { makeBrowser, makeReplica } from "../../support/accounts/SignIn.ts"
import { makeEmail } from "../../support/api/searches.ts"
import { startServer } from "../../support/processes/Spawned.ts"
import { describeWithRedis, redisServer } from "../../support/servers/RedisServer.ts"
import { freshDatabase } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const baseUrl = "https://quarry.test"
const secret = "a secret for tests, of 32 characters or more"

const signUp = { mode: "open", domains: [] } as const
const members = MembersBetterAuth.layer({ baseUrl, secrets: singleKeyring(Redacted.make(secret)), signUp })

const cookieOf = ({ cookies }: Apps.Browser): string =>
  Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ")

/** An owner, and a member whose session and app use the owner's account. */
const makeTeam = Effect.gen(function* () {
  const replica = yield* makeReplica({ baseUrl, secret })
  const service = yield* Members
  const sql = yield* SqlClient.SqlClient
  const [owner, member] = [makeBrowser(), makeBrowser()]
  const email = yield* makeEmail
  yield* owner.signUp(replica, yield* makeEmail)
  yield* member.signUp(replica, email)
  yield* sql`update auth_users set email_verified = true`
  const { account } = yield* owner.whoAmI(replica)
  const { personId, sessionId } = yield* member.whoAmI(replica)
  const { link, member: invited } = yield* service.invite(account, email, "developer")
  const token = Redacted.make(new URL(Redacted.value(link)).searchParams.get("token") ?? "")
  yield* service.join(token, { id: sessionId, personId })
  const { tokens } = yield* Apps.letIn(replica, member)
  return { memberId: invited.id, owner: cookieOf(owner), member: cookieOf(member), token: tokens.access }
})

const asSession = (address: string, cookie: string, method = "GET", path = "/v1/me") =>
  Effect.promise(() => fetch(address + path, { method, headers: { cookie, origin: baseUrl, [dashboardHeader]: "1" } }))

const asApp = (address: string, token: string) =>
  Effect.promise(() =>
    fetch(`${address}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream"
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
    })
  )

describeWithPostgres("a removed member", () => {
  describeWithRedis("on three replicas", () => {
    it.live(
      "R67: gets 401 on each of them within 10 seconds, with the session of an open dashboard and the token of an app",
      () =>
        Effect.gen(function* () {
          const { url } = yield* freshDatabase
          const redis = yield* redisServer
          const env = {
            DATABASE_URL: Redacted.value(url),
            REDIS_URL: Redacted.value(redis.url()),
            BASE_URL: baseUrl,
            AUTH_SECRET: secret,
            KEY_PEPPER: SqlStorage.pepper
          }
          const start = Effect.map(startServer(env), ({ origin }) => origin)
          const replicas = [yield* start, yield* start, yield* start]
          const storage = SqlStorage.layer(PostgresSql.layer({ url, poolSize: 2 }))
          const team = yield* Effect.provide(makeTeam, Layer.provideMerge(members, storage), { local: true })
          const asks = replicas.flatMap((address) => [
            { name: `session at ${address}`, ask: asSession(address, team.member) },
            { name: `token at ${address}`, ask: asApp(address, team.token) }
          ])
          for (const { ask, name } of asks) assert.strictEqual((yield* ask).status, 200, name)
          const removed = yield* asSession(replicas[0] ?? "", team.owner, "DELETE", `/v1/members/${team.memberId}`)
          assert.strictEqual(removed.status, 204)
          const removedAt = performance.now()
          const waits = yield* Effect.forEach(
            asks,
            ({ ask }) =>
              ask.pipe(
                Effect.repeat({ until: ({ status }) => status === 401 }),
                Effect.map(() => performance.now() - removedAt),
                Effect.timeout("10 seconds")
              ),
            { concurrency: "unbounded" }
          )
          if (process.env.QUARRY_PRINT_WAITS) console.log(waits.map((ms) => `${ms.toFixed(1)} ms`).join(", "))
        }),
      120_000
    )
  })
})
