import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as SecretHeaders from "../../../src/process/secrets/SecretHeaders.ts"
import { SignedIn } from "../../../src/testing/SessionsMemory.ts"
import { post, toolCall } from "../../support/api/Mcp.ts"
import { aCaller, found, marketplaceSecret, providing, servicesOver, unlimited } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import * as EmbeddedDatabase from "../../support/stores/EmbeddedDatabase.ts"
import * as SqlStorage from "../../support/stores/SqlStorage.ts"

const written: Array<string> = []
const spans: Array<Tracer.NativeSpan> = []

/** Everything that is logged, at every level, and every span with its attributes. */
const watched = Layer.mergeAll(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "All"),
  Layer.succeed(
    Tracer.Tracer,
    Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
  ),
  SecretHeaders.layer
)

/** Every row of every table, as text. */
const dump = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
  const rows = yield* Effect.forEach(
    tables,
    ({ name }) => sql<{ readonly row: string }>`select to_jsonb(t)::text as row from ${sql(name)} as t`
  )
  return rows.flat().map(({ row }) => row)
})

/** Providers that fail where the query says so: what goes wrong is logged with more than what goes right. */
const providers = providing(({ query }) =>
  query === "boom" ? Effect.die(new Error("boom")) : Effect.succeed(found(1))
)

layer(
  servicesOver(SqlStorage.layer(EmbeddedDatabase.layer), providers, { limiter: unlimited }).pipe(
    Layer.provideMerge(watched)
  )
)("secrets", (it) => {
  it.effect("appear in their one response, and in no other, no log, no span and no table", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const person = yield* aCaller({ plan: "growth" })
      const cookie = yield* Effect.flatMap(SignedIn, (signedIn) => signedIn.cookie(person.account))
      const headers = {
        cookie,
        origin: "http://quarry.test",
        "content-type": "application/json",
        "x-quarry-dashboard": "1"
      }
      const created = yield* api.send("POST", "/v1/api-keys", { headers, body: '{"name":"canary"}' })
      const rotated = yield* api.send("POST", `/v1/api-keys/${created.json.id}/rotate`, { headers })
      yield* TestClock.adjust("10 seconds")
      const wrongMarketplaceSecret = "a-secret-that-is-not-the-proxys"
      const presented: ReadonlyArray<Record<string, string>> = [
        headers,
        { cookie: `${cookie}x` },
        { authorization: `Bearer ${rotated.json.secret}` },
        { authorization: `Bearer ${created.json.secret}` },
        { authorization: `Basic ${rotated.json.secret}` },
        { authorization: `Bearer ${person.secret}x`, cookie },
        { "x-marketplace-proxy-secret": marketplaceSecret, "x-marketplace-user": "ada" },
        { "x-marketplace-proxy-secret": wrongMarketplaceSecret, "x-marketplace-user": "ada" }
      ]
      const paths = [
        "/v1/me",
        "/v1/query?query=a",
        "/v1/query?query=boom",
        "/v1/query?query=",
        "/v1/api-keys",
        "/v1/usage?group_by=key",
        "/v1/query/history",
        "/v1/sessions",
        "/v1/apps",
        "/v1/account/export",
        "/v1/account/events",
        "/v1/billing",
        "/v1/webhooks",
        "/v1/nothing",
        "/openapi.json"
      ]
      const answers: Array<string> = []
      const keep = (answer: TestApi.Answer) =>
        answers.push(answer.text, ...[...answer.headers].map(([name, value]) => `${name}: ${value}`))
      for (const credential of presented) {
        for (const path of paths) keep(yield* api.get(path, credential))
        for (const query of ["a", "boom", ""]) {
          const args = { query, api_key: rotated.json.secret, authorization: `Bearer ${rotated.json.secret}` }
          keep(yield* post(api, credential, toolCall("web_search", args)))
          keep(yield* post(api, credential, toolCall("account", args).slice(1)))
        }
      }
      const traced = spans.flatMap((span) => [
        span.name,
        ...[...span.attributes].map(([name, value]) => `${name}: ${String(value)}`),
        ...span.events.map((event) =>
          JSON.stringify(event, (_, value) => (typeof value === "bigint" ? `${value}` : value))
        )
      ])
      const places = { answers, logs: written, spans: traced, tables: yield* dump }
      const canaries = {
        "created key": created.json.secret,
        "rotated key": rotated.json.secret,
        "key of the operator": person.secret,
        session: cookie.slice(cookie.indexOf("=") + 1),
        "marketplace secret": marketplaceSecret,
        "wrong marketplace secret": wrongMarketplaceSecret
      }
      // The net is not torn: what may be seen is.
      assert.isTrue(answers.some((text) => text.includes(rotated.json.hint)))
      assert.isTrue(written.some((line) => line.includes("boom")))
      assert.isTrue(traced.some((text) => text.includes("url.path: /v1/query")))
      assert.isTrue(places.tables.some((row) => row.includes("canary")))
      for (const [secret, value] of Object.entries(canaries)) {
        assert.isAtLeast(value.length, 16)
        for (const [place, texts] of Object.entries(places)) {
          // The middle of it too: a cut or re-encoded copy is a copy.
          const middle = value.slice(8, -5)
          const found = texts.filter((text) => text.includes(middle))
          assert.deepStrictEqual(found, [], `${secret} in the ${place}`)
        }
      }
    })
  )
})
