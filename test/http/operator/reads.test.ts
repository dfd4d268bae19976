import "../../support/accounts/cheapPasswords.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { QueryLog } from "../../../src/services/charging/QueryLog.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Audit } from "../../../src/services/operations/Audit.ts"
import { ProviderPauses } from "../../../src/services/providers/ProviderPauses.ts"
import { consoleServices, makeConsoleUser } from "../../support/accounts/consoleServices.ts"
import { baseUrl } from "../../support/accounts/memberServices.ts"
import { makeAccount, makeRecord } from "../../support/api/searches.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const requestId = "0b9f6c1e-8d6f-4c7e-9b58-2f6d7a1c3e55"

/** A customer with a key and a failed search, and an observer who looks. */
const make = Effect.gen(function* () {
  const api = yield* TestApi.make
  const { cookie } = yield* makeConsoleUser("observer")
  const account = yield* makeAccount({ plan: "growth" })
  const { key } = yield* Effect.flatMap(KeyStore, (keys) => keys.create(account.id, { label: "crawler", mode: "live" }))
  const entry = { ...(yield* makeRecord(undefined)), accountId: account.id, keyId: key.id, requestId, credits: 0 }
  const refusals = [{ provider: "meta/google", reason: "paused" as const, ms: 0 }]
  yield* Effect.flatMap(QueryLog, (log) => log.append([{ ...entry, outcome: "upstream_error", refusals }]))
  const get = (path: string) => api.get(`/v1/operator${path}`, { cookie, origin: baseUrl })
  return { account, api, entry, get, key }
})

layer(consoleServices(), { timeout: "120 seconds" })("the console's reads", (it) => {
  it.effect("each route answers an observer with JSON that nobody stores", () =>
    Effect.gen(function* () {
      const { account, entry, get } = yield* make
      for (const path of [
        "/now",
        "/now?since=2026-01-01",
        "/customers",
        `/customers/${account.id}`,
        `/customers/${account.id}/log`,
        `/customers/${account.id}/activity`,
        `/customers/${account.id}/usage?group_by=key`,
        "/usage/top?by=key",
        "/engines",
        `/requests/${entry.id}`,
        "/index",
        "/money",
        "/audit",
        "/settings"
      ]) {
        const { headers, status, text } = yield* get(path)
        assert.strictEqual(status, 200, `${path}: ${text}`)
        assert.strictEqual(headers.get("cache-control"), "no-store", path)
        assert.notInclude(text, "undefined")
      }
    })
  )

  it.effect("a customer is found by address, plan and the shown part of a key, with all that is known", () =>
    Effect.gen(function* () {
      const { account, get, key } = yield* make
      const ids = (query: string) =>
        Effect.map(get(`/customers?${query}`), ({ json }) =>
          json.customers.map((found: { readonly account_id: string }) => found.account_id)
        )
      for (const text of [account.email, key.hint.slice(0, 12), key.id]) {
        assert.include(yield* ids(`text=${encodeURIComponent(text)}`), account.id, text)
      }
      assert.notInclude(yield* ids("plan=trial"), account.id)
      const { json } = yield* get(`/customers/${account.id}`)
      assert.deepInclude(json.account, { account_id: account.id, plan: "growth" })
      assert.deepInclude(json.limits, { concurrency: 5, requests_per_minute: 300 })
      assert.deepInclude(json.keys[0], { id: key.id, name: "crawler", hint: key.hint })
      const missing = yield* get("/customers/acc_none")
      assert.deepStrictEqual([missing.status, missing.json.error], [404, "not_found"])
    })
  )

  it.effect("one request is found by its search, its request and its trace", () =>
    Effect.gen(function* () {
      const { entry, get } = yield* make
      for (const [id, kind] of [
        [entry.id, "query"],
        [requestId, "request"],
        [requestId.replaceAll("-", ""), "trace"]
      ] as const) {
        const { json } = yield* get(`/requests/${id}`)
        assert.strictEqual(json.kind, kind)
        const own = json.entries.find((found: { readonly id: string }) => found.id === entry.id)
        assert.deepStrictEqual(own.refusals, [{ provider: "meta/google", reason: "paused", ms: 0 }])
      }
      assert.strictEqual((yield* get("/requests/acc_1")).status, 400)
      assert.strictEqual((yield* get(`/requests/qry_${"0".repeat(32)}`)).status, 404)
    })
  )

  it.effect("wrong parameters are named", () =>
    Effect.gen(function* () {
      const { get } = yield* make
      for (const path of ["/customers?plan=gold", "/usage/top?by=moon", "/audit?before=x", "/now?since=soon"]) {
        const { json, status } = yield* get(path)
        assert.deepStrictEqual([status, json.error], [400, "invalid_request"], path)
      }
      const wrong = yield* get("/usage/top?from=2026-01-02&to=2026-01-01")
      assert.strictEqual(wrong.status, 400)
    })
  )

  it.effect("documents are loaded with progress, broken lines are listed, and the load is recorded", () =>
    Effect.gen(function* () {
      const { api } = yield* make
      const { cookie, email } = yield* makeConsoleUser("operator")
      const post = (query: string, body: string) =>
        api.send("POST", `/v1/operator/index/documents${query}`, { headers: { cookie, origin: baseUrl }, body })
      const document = (name: string) =>
        JSON.stringify({ url: `https://load.example/${name}`, title: name, description: "" })
      const { status, text } = yield* post("?target=beta_search", `${document("a")}\n{"url": 1}\n\n${document("b")}\n`)
      assert.strictEqual(status, 200, text)
      const last = JSON.parse(text.trim().split("\n").at(-1) ?? "")
      assert.deepInclude(last, { done: true, read: 3, written: 2, failed: 1, removed: 0 })
      assert.strictEqual(last.problems[0].line, 2)
      const replaced = yield* post("?target=beta_search&replace=true", document("c"))
      assert.deepStrictEqual([replaced.status, replaced.json.error], [400, "invalid_request"])
      assert.match(replaced.text, /would remove 2 of the/)
      const confirmed = yield* post("?target=beta_search&replace=true&yes=true", document("c"))
      assert.include(confirmed.text, '"removed":2')
      assert.strictEqual((yield* post("?replace=true", "")).status, 400)
      const [entry] = yield* Effect.flatMap(Audit, (audit) =>
        audit.list({
          ...{ operator: email, command: "index load", subject: undefined, from: undefined, to: undefined },
          ...{ before: undefined, limit: 1 }
        })
      )
      assert.deepStrictEqual(entry?.arguments, { source: "console", target: "beta_search", replace: true })
    })
  )

  it.effect("engines show their pause with who made it and why", () =>
    Effect.gen(function* () {
      const { get } = yield* make
      const pauses = yield* ProviderPauses
      yield* pauses.pause({ provider: "none", engine: undefined, by: "ada", reason: "captchas" })
      const { json } = yield* get("/engines")
      assert.strictEqual(json.targets.length, 6)
    })
  )
})
