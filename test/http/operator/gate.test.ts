import "../../support/accounts/cheapPasswords.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { OperatorApi } from "../../../src/http/operator/OperatorApi.ts"
import { Operators } from "../../../src/services/accounts/Operators.ts"
import { ageSignIn, consoleServices, makeConsoleUser } from "../../support/accounts/consoleServices.ts"
import { baseUrl, makePerson, services } from "../../support/accounts/memberServices.ts"
import { aKeyOf } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"

const inside = "192.0.2.7"
const outside = "198.51.100.7"

const routes: ReadonlyArray<HttpApiEndpoint.Top> = Object.values(OperatorApi.groups).flatMap(({ endpoints }) =>
  // Each endpoint is of this type; the group's own type is narrower.
  Object.values(endpoints as Readonly<Record<string, HttpApiEndpoint.Top>>)
)

interface Sender {
  readonly headers: Readonly<Record<string, string>>
  readonly address?: string
}

const send = (api: TestApi.TestApi, { method, path }: HttpApiEndpoint.Top, { address = inside, headers }: Sender) =>
  api.send(method, path.replaceAll(/:\w+/g, "none"), {
    headers: {
      origin: baseUrl,
      "x-forwarded-for": address,
      ...headers,
      ...(method === "GET" ? {} : { "content-type": "application/json" })
    },
    ...(method === "GET" ? {} : { body: JSON.stringify({ command: "account resume", id: "acc_none" }) })
  })

const withoutRequestId = (text: string): object => {
  const { request_id: _, ...rest } = JSON.parse(text)
  return rest
}

const pages = [
  "/dashboard/operator",
  "/dashboard/operator/",
  "/dashboard/operator/customers",
  "/dashboard/operator/assets/a.js"
]

const unknownOf = (api: TestApi.TestApi, method: string) =>
  Effect.map(api.send(method, "/v1/nothing", { headers: { origin: baseUrl } }), ({ text }) => withoutRequestId(text))

layer(services, { timeout: "60 seconds" })("R87: without OPERATOR_CONSOLE", (it) => {
  it.effect("nobody finds a route or a page of the console", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie } = yield* makeConsoleUser("operator")
      for (const headers of [{}, { cookie }]) {
        for (const route of routes) {
          const { status, text } = yield* send(api, route, { headers })
          assert.strictEqual(status, 404, `${route.method} ${route.path}`)
          assert.deepStrictEqual(withoutRequestId(text), yield* unknownOf(api, route.method))
        }
        for (const page of pages) {
          const { status, text } = yield* api.get(page, { ...headers, accept: "text/html" })
          assert.strictEqual(status, 404, page)
          assert.deepStrictEqual(withoutRequestId(text), yield* unknownOf(api, "GET"))
        }
      }
    })
  )
})

type Refusal = readonly [status: number, error: string]

const unauthorized: Refusal = [401, "unauthorized"]
const notFound: Refusal = [404, "not_found"]
const forbidden: Refusal = [403, "forbidden"]
const stale: Refusal = [403, "fresh_sign_in_required"]

const isAct = ({ method }: HttpApiEndpoint.Top): boolean => method !== "GET"

const cookieOf = ({ cookie }: { readonly cookie: string }): Sender => ({ headers: { cookie } })

/** Who sends, and how each route refuses: undefined if it does not. */
const senders = {
  "nobody who signed in": {
    make: Effect.succeed<Sender>({ headers: {} }),
    refusal: () => unauthorized
  },
  "an operator's key": {
    make: Effect.gen(function* () {
      const { principal } = yield* makeConsoleUser("operator")
      return { headers: (yield* aKeyOf(principal, "live")).auth }
    }),
    refusal: () => unauthorized
  },
  "an owner who is not an operator": { make: Effect.map(makePerson, cookieOf), refusal: () => notFound },
  "somebody who was an operator": {
    make: Effect.gen(function* () {
      const user = yield* makeConsoleUser("operator")
      yield* (yield* Operators).remove(user.email)
      return cookieOf(user)
    }),
    refusal: () => notFound
  },
  "an operator in another network": {
    make: Effect.map(makeConsoleUser("operator"), (user) => ({ ...cookieOf(user), address: outside })),
    refusal: () => forbidden
  },
  "an operator without a second factor": {
    make: Effect.map(makeConsoleUser("operator", false), cookieOf),
    refusal: () => forbidden
  },
  "an observer": {
    make: Effect.map(makeConsoleUser("observer"), cookieOf),
    refusal: (route: HttpApiEndpoint.Top) => (isAct(route) ? forbidden : undefined)
  },
  "an operator with an old sign-in": {
    make: Effect.tap(makeConsoleUser("operator"), ({ principal }) => ageSignIn(principal.personId)).pipe(
      Effect.map(cookieOf)
    ),
    refusal: (route: HttpApiEndpoint.Top) => (isAct(route) ? stale : undefined)
  },
  "an operator": { make: Effect.map(makeConsoleUser("operator"), cookieOf), refusal: () => undefined }
}

layer(consoleServices(["192.0.2.0/24"]), { timeout: "60 seconds" })("R87: the console's routes", (it) => {
  for (const [name, { make, refusal }] of Object.entries(senders)) {
    it.effect(`judge ${name} as documented`, () =>
      Effect.gen(function* () {
        const api = yield* TestApi.make
        const sender = yield* make
        for (const route of routes) {
          const { status, text } = yield* send(api, route, sender)
          const expected = refusal(route)
          const label = `${route.method} ${route.path}: ${text}`
          if (expected === undefined) assert.notInclude([401, 403, 500], status, label)
          else assert.deepStrictEqual([status, JSON.parse(text).error], expected, label)
        }
      })
    )
  }

  it.effect("are to other people what an unknown path is to them, with the same headers", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { headers } = cookieOf(yield* makePerson)
      const { headers: known, text } = yield* api.get("/v1/operator/me", { ...headers })
      assert.deepStrictEqual(withoutRequestId(text), yield* unknownOf(api, "GET"))
      assert.deepStrictEqual([...known.keys()], [...(yield* api.get("/v1/nothing", { ...headers })).headers.keys()])
    })
  )

  it.effect("let observers do what changes nothing", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie } = yield* makeConsoleUser("observer")
      const headers = { origin: baseUrl, cookie, "x-forwarded-for": inside, "content-type": "application/json" }
      const body = JSON.stringify({ command: "ledger verify" })
      const { json, status } = yield* api.send("POST", "/v1/operator/acts", { headers, body })
      assert.deepStrictEqual([status, json], [200, { ok: true, discrepancies: [] }])
    })
  )

  it.effect("R25: take no act from a page of another site", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie } = yield* makeConsoleUser("operator")
      const headers = { cookie, "x-forwarded-for": inside, "content-type": "application/json" }
      const body = JSON.stringify({ command: "ledger verify" })
      for (const origin of [undefined, "https://elsewhere.test"]) {
        const sent = origin === undefined ? headers : { ...headers, origin }
        assert.strictEqual((yield* api.send("POST", "/v1/operator/acts", { headers: sent, body })).status, 401)
      }
    })
  )

  it.effect("say who the person is, and are never stored", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie, email, principal } = yield* makeConsoleUser("observer")
      const me = () => api.get("/v1/operator/me", { cookie, "x-forwarded-for": inside })
      const first = yield* me()
      assert.deepStrictEqual(first.json, { email, role: "observer", is_fresh: true })
      assert.strictEqual(first.headers.get("cache-control"), "no-store")
      yield* ageSignIn(principal.personId)
      assert.deepStrictEqual((yield* me()).json, { email, role: "observer", is_fresh: false })
    })
  )

  it.effect.each([
    [{}, "command", /is required/],
    [{ command: "account create" }, "command", /^must be one of /],
    [{ command: "account suspend", id: "acc_1" }, "reason", /./],
    [{ command: "account suspend", id: "acc_1", reason: "a\0b" }, "reason", /NUL/],
    [{ command: "account suspend", id: "\ud800", reason: "a" }, "id", /an ID/],
    [{ command: "account delete", id: "acc_1" }, "yes", /is required/],
    [{ command: "account delete", id: "acc_1", yes: false }, "yes", /must be true/],
    [{ command: "account adjust", id: "acc_1", credits: 0, reason: "a" }, "credits", /other than 0/],
    [{ command: "account grant", id: "acc_1", credits: 1.5, reason: "a" }, "credits", /whole number/],
    [{ command: "account set-plan", id: "acc_1", plan: "gold" }, "plan", /^must be one of trial/],
    [{ command: "account set-plan", id: "acc_1", plan: "growth", cycle_start: "soon" }, "cycle_start", /ISO 8601/],
    [{ command: "member role", account: "acc_1", email: "ada", role: "owner" }, "email", /email address/]
  ] as const)("name the field that is wrong in %j", ([body, field, message]) =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie } = yield* makeConsoleUser("operator")
      const headers = { origin: baseUrl, cookie, "x-forwarded-for": inside, "content-type": "application/json" }
      const { json, status } = yield* api.send("POST", "/v1/operator/acts", { headers, body: JSON.stringify(body) })
      assert.deepStrictEqual([status, json.error], [400, "invalid_request"])
      assert.strictEqual(json.issues[0].field, field)
      assert.match(json.issues[0].message, message)
    })
  )

  it.effect("lead to the pages only operators, and others to the sign-in or nowhere", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { cookie } = yield* makeConsoleUser("observer")
      const stranger = yield* makePerson
      for (const page of pages) {
        const signedOut = yield* api.get(page, { accept: "text/html" })
        assert.strictEqual(signedOut.status, 303, page)
        assert.match(signedOut.headers.get("location") ?? "", /^\/dashboard\/sign-in\?next=%2Fdashboard%2Foperator/)
        const refused = yield* api.get(page, { accept: "text/html", cookie: stranger.cookie })
        assert.deepStrictEqual(withoutRequestId(refused.text), yield* unknownOf(api, "GET"))
        // The tests build no files of pages.
        const found = yield* api.get(page, { accept: "text/html", cookie })
        assert.strictEqual(found.status, page.includes("/assets/") ? 404 : 503, page)
      }
    })
  )
})
