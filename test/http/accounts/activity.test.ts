import "../../support/accounts/cheapPasswords.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { CurrentRequester } from "../../../src/domain/requests/CurrentRequester.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Activity } from "../../../src/services/accounts/Activity.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Audit } from "../../../src/services/operations/Audit.ts"
import { EventBooks } from "../../../src/services/webhooks/EventBooks.ts"
import { baseUrl, services } from "../../support/accounts/memberServices.ts"
import { liftShortLimits, password } from "../../support/accounts/SignIn.ts"
import { makeEmail } from "../../support/api/searches.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

interface Event {
  readonly id: string
  readonly at: string
  readonly type: string
  readonly actor: string | null
  readonly address: string | null
  readonly browser: string | null
  readonly changes: Readonly<Record<string, unknown>>
}

let clients = 0

/** A person in a browser, with an account of their own. */
const makePerson = Effect.gen(function* () {
  const api = yield* TestApi.make
  const email = yield* makeEmail
  const address = `203.0.113.${++clients}`
  let cookie = ""
  const send = Effect.fnUntraced(function* (
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {}
  ) {
    const answer = yield* api.send(method, path, {
      headers: {
        origin: baseUrl,
        "x-forwarded-for": address,
        "user-agent": userAgent,
        cookie,
        ...(body && { "content-type": "application/json" }),
        ...headers
      },
      ...(body && { body: JSON.stringify(body) })
    })
    const cookies = answer.headers.getSetCookie().map((line) => line.split(";", 1).join(""))
    const token = cookies.find((line) => line.includes("session_token="))
    if (token !== undefined) cookie = token
    return answer
  })
  yield* liftShortLimits
  const { status, text } = yield* send("POST", "/api/auth/sign-up/email", { email, password, name: "A Person" })
  assert.strictEqual(status, 200, text)
  const { id } = yield* Effect.orDie((yield* Accounts).byEmail(email))
  const get = Effect.fnUntraced(function* (query = "") {
    const answer = yield* send("GET", `/v1/account/events${query}`)
    assert.strictEqual(answer.status, 200, answer.text)
    return answer.json as { readonly events: ReadonlyArray<Event>; readonly next_cursor: string | null }
  })
  /** Types, oldest first, since an event. */
  const since = (last: Event | undefined) =>
    Effect.map(get("?limit=100"), ({ events }) => {
      const end = events.findIndex((event) => event.id === last?.id)
      return events.slice(0, end < 0 ? undefined : end).toReversed()
    })
  return { id, email, address, send, get, since }
})

type Person = Effect.Success<typeof makePerson>

const types = (events: ReadonlyArray<Event>) => events.map(({ type }) => type)

const secretPath = "/services/a-secret-of-the-path"
const newPassword = "staple battery horse correct"

interface Act {
  readonly act: (person: Person) => Effect.Effect<unknown, unknown, TestApi.Services | Audit | SqlClient.SqlClient>
  readonly expected: ReadonlyArray<string>
}

/** Sends a request that must succeed, and returns its body. */
const done = (person: Person, method: string, path: string, body?: object) =>
  Effect.map(person.send(method, path, body), (answer) => {
    assert.isBelow(answer.status, 300, `${method} ${path}: ${answer.text}`)
    return answer.text === "" ? undefined : answer.json
  })

const makeKey = (person: Person, body: object = {}) => done(person, "POST", "/v1/api-keys", { name: "deploy", ...body })

const makeWebhook = (person: Person) =>
  done(person, "POST", "/v1/webhooks", { url: `https://hooks.example.com${secretPath}`, events: ["key.created"] })

const invite = Effect.fnUntraced(function* (person: Person) {
  return yield* done(person, "POST", "/v1/members", { email: yield* makeEmail, role: "viewer" })
})

const acts: Readonly<Record<string, Act>> = {
  "a new key": { act: makeKey, expected: ["key.created"] },
  "a new key with limits": {
    act: (person) => makeKey(person, { targets: ["beta_search"] }),
    expected: ["key.created", "key.limited"]
  },
  "other limits of a key": {
    act: Effect.fnUntraced(function* (person) {
      const { id } = yield* makeKey(person, { targets: ["beta_search"] })
      yield* done(person, "PATCH", `/v1/api-keys/${id}`, { targets: null })
    }),
    expected: ["key.created", "key.limited", "key.limited"]
  },
  "a rotated and revoked key": {
    act: Effect.fnUntraced(function* (person) {
      const { id } = yield* done(person, "POST", `/v1/api-keys/${(yield* makeKey(person)).id}/rotate`, {})
      yield* done(person, "DELETE", `/v1/api-keys/${id}`)
    }),
    expected: ["key.created", "key.rotated", "key.revoked"]
  },
  "a webhook, from its creation to its end": {
    act: Effect.fnUntraced(function* (person) {
      const { id } = yield* makeWebhook(person)
      yield* done(person, "PATCH", `/v1/webhooks/${id}`, { events: ["key.revoked"] })
      yield* done(person, "POST", `/v1/webhooks/${id}/rotate`, {})
      yield* done(person, "DELETE", `/v1/webhooks/${id}`)
    }),
    expected: ["webhook.created", "webhook.changed", "webhook.secret_rotated", "webhook.deleted"]
  },
  "an invitation, another role, limits, and its end": {
    act: Effect.fnUntraced(function* (person) {
      const { id } = yield* invite(person)
      yield* done(person, "PATCH", `/v1/members/${id}`, { role: "developer" })
      yield* done(person, "PATCH", `/v1/members/${id}`, { budget: { credits: 5, period: "month" } })
      yield* done(person, "DELETE", `/v1/members/${id}`)
    }),
    expected: ["member.invited", "member.role_changed", "member.limited", "member.removed"]
  },
  "an export of the account": {
    act: (person) => done(person, "GET", "/v1/account/export"),
    expected: ["account.exported"]
  },
  "another password": {
    act: (person) => done(person, "POST", "/api/auth/change-password", { currentPassword: password, newPassword }),
    expected: ["person.password_changed", "person.signed_out", "person.signed_in"]
  },
  "a sign-out and a sign-in": {
    act: Effect.fnUntraced(function* (person) {
      yield* done(person, "POST", "/api/auth/sign-out", {})
      yield* liftShortLimits
      yield* done(person, "POST", "/api/auth/sign-in/email", { email: person.email, password })
    }),
    expected: ["person.signed_out", "person.signed_in"]
  }
}

layer(services, { timeout: "60 seconds" })("R68: an account's activity", (it) => {
  it.effect("begins with its owner", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      const events = yield* person.since(undefined)
      assert.deepStrictEqual(types(events), ["member.joined", "person.signed_in"])
      const { actor, address, browser, changes } = events[1] ?? assert.fail()
      assert.deepStrictEqual([actor, address, browser], [person.email, person.address, userAgent])
      assert.deepStrictEqual(changes, { email: person.email })
    })
  )

  it.effect.each(Object.keys(acts))("shows %s, with who did it, from where, and no secret", (name) =>
    Effect.gen(function* () {
      const { act, expected } = acts[name] ?? assert.fail()
      const person = yield* makePerson
      const last = (yield* person.get()).events[0]
      const results = JSON.stringify(yield* act(person)) ?? ""
      const events = yield* person.since(last)
      assert.sameMembers(types(events), [...expected])
      for (const { actor, address, browser, type } of events) {
        assert.deepStrictEqual([actor, address, browser], [person.email, person.address, userAgent], type)
      }
      const text = JSON.stringify(events)
      const secrets = [...results.matchAll(/(?:sk_|whsec_)\w{20,}/g)].map(([secret]) => secret)
      for (const secret of [...secrets, password, newPassword, secretPath]) assert.notInclude(text, secret)
      assert.notMatch(text, /whsec_|"(?:digest|password|secret)"/)
    })
  )

  it.effect("names what an operator did, without their name and reason", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      const last = (yield* person.get()).events[0]
      const audit = yield* Audit
      const record = { operator: "ada", command: "account set-plan", subject: person.id }
      const change = Effect.andThen(
        Effect.flatMap(Accounts, (accounts) => accounts.setPlan(person.id, { plan: "growth" })),
        Effect.flatMap(Ledger, (ledger) => ledger.grant(person.id, 7, "a private remark"))
      )
      yield* audit.recorded(change, () => ({ ...record, arguments: { plan: "growth", reason: "a private remark" } }))
      const events = yield* person.since(last)
      assert.deepStrictEqual(
        events.map(({ actor, changes, type }) => [type, actor, changes]),
        [
          ["plan.changed", "operator", { plan: "growth", previous_plan: "trial" }],
          ["pack.granted", "operator", { credits: 7, balance: 7 }],
          ["operator.command", "operator", { command: "account set-plan", plan: "growth" }]
        ]
      )
    })
  )

  it.effect("records 20 wrong passwords a day for a person, however many there are", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      for (let n = 0; n < 23; n++) {
        const body = { email: person.email, password: "wrong" }
        const { status } = yield* person.send("POST", "/api/auth/sign-in/email", body, {
          "x-forwarded-for": `198.51.100.${n}`
        })
        assert.strictEqual(status, 401)
        yield* liftShortLimits
      }
      const failures = Effect.map(person.get("?type=person.sign_in_failed&limit=100"), ({ events }) => events)
      const events = yield* Effect.repeat(failures, { until: ({ length }) => length >= 20 })
      assert.lengthOf(events, 20)
      assert.deepInclude(events[19], { actor: null, address: "198.51.100.0", browser: userAgent })
      assert.deepInclude(events[19]?.changes, { email: person.email })
    })
  )

  it.effect("has no event without its change, and no change without its event", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = yield* KeyStore
      const person = yield* makePerson
      const state = Effect.gen(function* () {
        const { events } = yield* person.get("?limit=100")
        return [events.length, (yield* keys.list(person.id)).map(({ revokedAt }) => revokedAt)]
      })
      yield* sql`create function fail_now() returns trigger language plpgsql as 'begin raise exception ''a fault''; end'`
      const { id } = yield* makeKey(person)
      const before = yield* state
      const faults = {
        "before the event": sql`create trigger fault before insert on account_events for each row execute function fail_now()`,
        "after the event": sql`
          create constraint trigger fault after insert or update on api_keys deferrable initially deferred
          for each row execute function fail_now()`
      }
      for (const [when, fault] of Object.entries(faults)) {
        yield* fault
        assert.strictEqual((yield* person.send("POST", "/v1/api-keys", { name: "other" })).status, 500, when)
        assert.strictEqual((yield* person.send("DELETE", `/v1/api-keys/${id}`)).status, 500, when)
        yield* sql`drop trigger fault on ${sql(when === "before the event" ? "account_events" : "api_keys")}`
        assert.deepStrictEqual(yield* state, before, when)
      }
      yield* done(person, "DELETE", `/v1/api-keys/${id}`)
      assert.strictEqual((yield* person.get("?type=key.revoked")).events.length, 1)
      yield* sql`drop function fail_now`
    })
  )

  it.effect("has the same entries in pages of any size, in lines, and in the account's export", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      const activity = yield* Activity
      yield* Effect.forEach(Array.from({ length: 40 }), (_, n) =>
        activity.record(person.id, `test.act_${"abc"[n % 3]}`, { n })
      )
      const all = (yield* person.get("?limit=100")).events
      assert.lengthOf(all, 42)
      for (const filter of ["", "&type=test", "&type=test.act_b", "&type=tes", "&actor=nobody", "&actor=operator"]) {
        const expected = all.filter(({ type }) => {
          const wanted = new URLSearchParams(filter).get("type")
          return !filter.includes("actor") && (wanted === null || type === wanted || type.startsWith(`${wanted}.`))
        })
        for (const limit of [1, 7, 100]) {
          const pages: Array<Event> = []
          let cursor: string | null = null
          do {
            const page: Effect.Success<ReturnType<Person["get"]>> = yield* person.get(
              `?limit=${limit}${filter}${cursor === null ? "" : `&cursor=${cursor}`}`
            )
            if (pages.length === 0) yield* activity.record(person.id, "later.act", {})
            pages.push(...page.events)
            cursor = page.next_cursor
          } while (cursor !== null)
          const seen = pages.filter(({ type }) => type !== "later.act")
          assert.deepStrictEqual(seen, expected, `${filter} ${limit}`)
        }
      }
      const own = yield* person.get(`?actor=${encodeURIComponent(person.email.toUpperCase())}`)
      assert.deepStrictEqual(types(own.events), ["person.signed_in", "member.joined"])
      const lines = yield* person.send("GET", "/v1/account/events?type=test", undefined, {
        accept: "application/x-ndjson"
      })
      assert.strictEqual(lines.headers.get("content-type"), "application/x-ndjson")
      const sent = lines.text.split("\n").filter((line) => line !== "")
      assert.deepStrictEqual(
        sent.map((line): Event => JSON.parse(line)),
        all.filter(({ type }) => type.startsWith("test."))
      )
      assert.strictEqual((yield* person.get()).events[0]?.type, "activity.exported")
      const exported = yield* done(person, "GET", "/v1/account/export")
      const kept = (events: ReadonlyArray<Event>) => events.filter(({ type }) => type.startsWith("test."))
      assert.deepStrictEqual(kept(exported.events), kept(all))
    })
  )

  it.effect("is known to the email about a key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const books = yield* EventBooks
      yield* sql`insert into event_channels values ('email')`
      const person = yield* makePerson
      yield* makeKey(person)
      const taken = yield* books.take({ working: 100, failing: 100, perEndpoint: 100 }, 1_000)
      yield* sql`delete from event_channels`
      const own = taken.filter(({ event }) => event.accountId === person.id)
      assert.deepStrictEqual(
        own.map(({ event: { requester, type } }) => [type, requester]),
        [["key.created", { actor: person.email, address: person.address, browser: userAgent }]]
      )
    })
  )

  it.effect("cuts what is too long, so that no change fails for its record", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      const browser = "b".repeat(5_000)
      const text = "t".repeat(5_000)
      const requester = { actor: "operator", address: "a".repeat(100), browser }
      const record = (yield* Activity).record(person.id, "test.long", { text })
      yield* Effect.provideService(record, CurrentRequester, requester)
      const { address, browser: shown, changes } = (yield* person.get()).events[0] ?? assert.fail()
      assert.deepStrictEqual([address, shown, changes], ["a".repeat(64), "b".repeat(256), { too_long: true }])
    })
  )

  it.effect("R6: reports each invalid parameter", () =>
    Effect.gen(function* () {
      const person = yield* makePerson
      const { json, status } = yield* person.send("GET", "/v1/account/events?limit=0&from=soon&cursor=x")
      assert.strictEqual(status, 400)
      const fields = json.issues.map(({ field }: { field: string }) => field)
      assert.sameMembers(fields, ["limit", "from", "cursor"])
    })
  )

  it.effect("is gone with the account, and after 400 days by whole months", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const count = (id: string) =>
        Effect.map(sql`select 1 from account_events where account_id = ${id}`, ({ length }) => length)
      const leaving = yield* makePerson
      yield* done(leaving, "DELETE", "/v1/account")
      assert.strictEqual(yield* count(leaving.id), 0)
      const person = yield* makePerson
      const dropAt = (days: number) =>
        sql`select account_events_drop_months(clock_timestamp() + ${days}::integer * interval '1 day')`
      yield* dropAt(399)
      assert.strictEqual(yield* count(person.id), 2)
      yield* dropAt(432)
      assert.strictEqual(yield* count(person.id), 0)
      // Later months keep their partitions, and an event without a partition goes as well.
      yield* done(person, "GET", "/v1/account/export")
      assert.strictEqual(yield* count(person.id), 1)
      yield* dropAt(401)
      assert.strictEqual(yield* count(person.id), 0)
    })
  )
})
