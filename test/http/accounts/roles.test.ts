import "../../support/accounts/cheapPasswords.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { dashboardHeader } from "../../../src/domain/accounts/CallingPage.ts"
import { ownerOnly, type Role, roles } from "../../../src/domain/accounts/Role.ts"
import { Api } from "../../../src/http/Api.ts"
import { acceptedCredentials, allowedRoles } from "../../../src/http/Callers.ts"
import { Members } from "../../../src/services/accounts/Members.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { baseUrl, makePerson, services } from "../../support/accounts/memberServices.ts"
import { makeEmail } from "../../support/api/searches.ts"
import * as TestApi from "../../support/api/TestApi.ts"

interface Route {
  readonly name: string
  readonly endpoint: HttpApiEndpoint.Top
  readonly allowed: ReadonlyArray<Role>
}

/** Every route that accepts sessions. The one that ends the account comes last. */
const routes: ReadonlyArray<Route> = Object.values(Api.groups)
  .flatMap(({ endpoints, identifier }) =>
    // Each endpoint is of this type; the group's own type is narrower.
    Object.values(endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>).map((endpoint) => ({
      name: `${identifier}.${endpoint.identifier}`,
      endpoint,
      // Members may also remove themselves, for which another test asks.
      allowed: identifier === "members" && endpoint.identifier === "remove" ? ownerOnly : allowedRoles(endpoint)
    }))
  )
  .filter(({ endpoint }) => acceptedCredentials(endpoint).includes("session"))
  .sort((a, b) => Number(a.name === "account.remove") - Number(b.name === "account.remove"))

const tokenIn = (link: Redacted.Redacted) =>
  Redacted.make(new URL(Redacted.value(link)).searchParams.get("token") ?? assert.fail("no token"))

/** An account with an owner and one more member, a key and an invitation, and the id of what each route names. */
const makeTeam = Effect.fnUntraced(function* (role: Role) {
  const members = yield* Members
  const owner = yield* makePerson
  const member = yield* makePerson
  const { account } = owner.principal
  const { link } = yield* members.invite(account, member.email, role)
  const { personId, sessionId } = member.principal
  yield* members.join(tokenIn(link), { id: sessionId, personId })
  const { key } = yield* Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "k", mode: "live" }))
  const { member: invited } = yield* members.invite(account, yield* makeEmail, "viewer")
  const ids: Readonly<Record<string, string>> = {
    keys: key.id,
    members: invited.id,
    access: owner.principal.sessionId
  }
  return { account, owner, member, memberId: owner.principal.memberId, ids }
})

const bodies: Readonly<Record<string, object>> = { "members.change": { role: "viewer" } }

/** Asks a route about something of the account. Ids are of nothing, unless they are given. */
const ask = (api: TestApi.TestApi, { endpoint, name }: Route, cookie: string | undefined, id = "none") =>
  api.send(endpoint.method, endpoint.path.replaceAll(/:\w+/g, id), {
    headers: {
      origin: baseUrl,
      [dashboardHeader]: "1",
      ...(cookie === undefined ? {} : { cookie }),
      ...(endpoint.method === "GET" ? {} : { "content-type": "application/json" })
    },
    ...(endpoint.method === "GET" || endpoint.method === "DELETE" ? {} : { body: JSON.stringify(bodies[name] ?? {}) })
  })

layer(services, { timeout: "60 seconds" })("R67: every session route", (it) => {
  it.effect("has roles, and the owner is one of them", () =>
    Effect.sync(() => {
      assert.isAbove(routes.length, 35)
      for (const { allowed, name } of routes) assert.include(allowed, "owner", name)
    })
  )

  it.effect.each(roles)("admits a member who is %s, or says which roles it admits", (role) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { member } = yield* makeTeam(role)
      for (const route of routes) {
        const { status, text } = yield* ask(api, route, member.cookie)
        if (route.allowed.includes(role)) assert.notInclude([401, 403, 500], status, `${route.name}: ${text}`)
        else {
          assert.strictEqual(status, 403, `${route.name}: ${text}`)
          const { error, message } = JSON.parse(text)
          assert.strictEqual(error, "forbidden")
          for (const other of roles) {
            if (other !== role) assert.strictEqual(message.includes(other), route.allowed.includes(other), message)
          }
        }
      }
    })
  )

  it.effect.each(roles)("is 401 for a removed member who was %s, and without a session", (role) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const members = yield* Members
      const { account, member, owner } = yield* makeTeam(role)
      const all = yield* members.list(account.id)
      const { id } = all.find(({ email }) => email === member.email) ?? assert.fail("no member")
      yield* members.remove(account.id, id)
      for (const route of routes) {
        assert.strictEqual((yield* ask(api, route, member.cookie)).status, 401, route.name)
        assert.strictEqual((yield* ask(api, route, undefined)).status, 401, route.name)
      }
      assert.strictEqual((yield* api.get("/v1/me", { cookie: owner.cookie })).status, 200)
    })
  )

  it.effect.each(roles)("of another account's %s shows and changes nothing of this one", (role) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, ids, owner } = yield* makeTeam("viewer")
      const { member: stranger } = yield* makeTeam(role)
      for (const route of routes) {
        const [group = ""] = route.name.split(".")
        const { status, text } = yield* ask(api, route, stranger.cookie, ids[group])
        assert.notInclude(text, account.id, route.name)
        assert.notInclude(text, owner.email, route.name)
        if (!route.endpoint.path.includes(":") || ids[group] === undefined) continue
        assert.strictEqual(status, route.allowed.includes(role) ? 404 : 403, `${route.name}: ${text}`)
      }
      assert.lengthOf(yield* (yield* Members).list(account.id), 3)
    })
  )

  it.effect("to remove others is the owner's, and everybody may leave", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, ids, member } = yield* makeTeam("developer")
      const headers = { origin: baseUrl, cookie: member.cookie }
      const { accounts } = yield* (yield* Members).accountsOf(member.principal.personId)
      const { memberId } = accounts.find(({ accountId }) => accountId === account.id) ?? assert.fail("no membership")
      assert.strictEqual((yield* api.send("DELETE", `/v1/members/${ids.members}`, { headers })).status, 403)
      assert.strictEqual((yield* api.send("DELETE", `/v1/members/${memberId}`, { headers })).status, 204)
      assert.strictEqual((yield* api.get("/v1/me", { cookie: member.cookie })).status, 401)
    })
  )

  it.effect("R66: removing members and the account needs a sign-in within ten minutes", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const sql = yield* SqlClient.SqlClient
      const { account, ids, owner } = yield* makeTeam("viewer")
      const remove = (path: string) => api.send("DELETE", path, { headers: { origin: baseUrl, cookie: owner.cookie } })
      const age = (time: string) =>
        sql`update auth_sessions set created_at = clock_timestamp() - ${time}::interval where account_id = ${account.id}`
      yield* age("10 minutes 1 second")
      for (const path of ["/v1/account", `/v1/members/${ids.members}`]) {
        const stale = yield* remove(path)
        assert.deepStrictEqual([stale.status, stale.json.error], [403, "fresh_sign_in_required"])
      }
      assert.strictEqual((yield* api.get("/v1/members", { cookie: owner.cookie })).json.members.length, 3)
      yield* age("9 minutes")
      assert.strictEqual((yield* remove(`/v1/members/${ids.members}`)).status, 204)
      assert.strictEqual((yield* remove("/v1/account")).status, 204)
    })
  )

  it.effect("members: invite, list, change, resend, remove and switch, as documented", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { account, member, owner } = yield* makeTeam("billing")
      const send = (method: string, path: string, cookie: string, body?: object) =>
        api.send(method, path, {
          headers: { origin: baseUrl, cookie, ...(body === undefined ? {} : { "content-type": "application/json" }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
      const email = yield* makeEmail
      const invited = yield* send("POST", "/v1/members", owner.cookie, { email, role: "developer" })
      assert.strictEqual(invited.status, 201)
      assert.deepInclude(invited.json, { email, role: "developer", status: "invited" })
      const { id } = invited.json
      const changed = yield* send("PATCH", `/v1/members/${id}`, owner.cookie, { role: "viewer" })
      assert.deepStrictEqual([changed.status, changed.json.role], [200, "viewer"])
      assert.strictEqual((yield* send("POST", `/v1/members/${id}/resend`, owner.cookie)).status, 200)
      assert.strictEqual((yield* send("DELETE", `/v1/members/${id}`, owner.cookie)).status, 204)
      const wrong = yield* send("POST", "/v1/members", owner.cookie, { email: "nobody", role: "king" })
      assert.deepStrictEqual(
        wrong.json.issues.map(({ field }: { field: string }) => field),
        ["email", "role"]
      )
      const last = yield* send("PATCH", `/v1/members/${owner.principal.memberId}`, owner.cookie, { role: "viewer" })
      assert.deepStrictEqual([last.status, last.json.error], [409, "last_owner"])
      const enter = (account_id: string) => send("POST", "/v1/session/account", member.cookie, { account_id })
      assert.strictEqual((yield* enter(member.principal.account.id)).status, 204)
      const { json } = yield* send("GET", "/v1/session/account", member.cookie)
      assert.strictEqual(json.email, member.email)
      assert.deepStrictEqual(
        json.accounts.map((it: { id: string; role: string; is_current: boolean }) => [it.id, it.role, it.is_current]),
        [
          [member.principal.account.id, "owner", true],
          [account.id, "billing", false]
        ]
      )
      const foreign = yield* makePerson
      const [unknown, other] = [yield* enter("acc_none"), yield* enter(foreign.principal.account.id)]
      assert.strictEqual(unknown.status, 404)
      const { request_id: _, ...expected } = unknown.json
      assert.deepInclude(other.json, expected)
    })
  )
})
