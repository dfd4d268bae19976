import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, References, Scope } from "effect"
import fc from "fast-check"
import { ManualClock } from "../../../clients/typescript/src/testing/ManualClock.ts"
import { effectClock } from "../../../clients/typescript/src/testing/service.ts"
import type { TestClock, TestSearch } from "../../../clients/typescript/src/testing/TestQuarry.ts"
import { UpstreamError } from "../../../src/domain/errors.ts"
import { Accounts } from "../../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../../src/services/credits/Ledger.ts"
import { aKeyOf, demoOrigin, found, providing, services } from "../../support/api/Services.ts"
import * as TestApi from "../../support/api/TestApi.ts"
import { using } from "./support.ts"

/** A minute before a calendar month ends, which is where a quota starts again. */
const now = Date.UTC(2026, 0, 31, 23, 59)

type Terms = { readonly plan: "trial" | "starter" } | { readonly plan: "custom"; readonly quota: number }

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A service that takes the steps of a sequence. */
interface Subject {
  readonly apiKey: string
  readonly clock: TestClock
  readonly grant: (credits: number) => Promise<void>
  readonly send: (path: string, init: RequestInit) => Promise<Answer>
}

type Step =
  | {
      readonly method: "GET" | "POST"
      readonly path: string
      readonly headers: Record<string, string>
      readonly body?: string
    }
  | { readonly advanceMs: number }
  | { readonly grant: number }

/** An answer without what is made up anew for each. */
const comparable = ({ headers, status, text }: Answer) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => name !== "x-request-id")),
  text: text.replaceAll(/\b(qry|bat|key)_[0-9a-f]{32}/g, "$1_").replaceAll(/"request_id":"[^"]*"/g, "")
})

const take = async ({ apiKey, clock, grant, send }: Subject, step: Step): Promise<unknown> => {
  if ("advanceMs" in step) return clock.advance(step.advanceMs)
  if ("grant" in step) return grant(step.grant)
  const { headers, path, ...init } = step
  const answer = await clock.run(send(path, { ...init, headers: { authorization: `Bearer ${apiKey}`, ...headers } }))
  return { ...comparable(answer), now: clock.now() }
}

/** The app of the server's own tests with all its routes, as a subject. */
const withApp = async (terms: Terms, use: (subject: Subject) => Promise<void>): Promise<void> => {
  const clock = new ManualClock(now)
  const scope = Scope.makeUnsafe()
  const providers = providing(({ query }) => {
    if (query === "never") return Effect.never
    if (query === "boom") return Effect.die(new Error("a bug"))
    if (query === "fail")
      return Effect.fail(new UpstreamError({ message: "The search provider could not be reached." }))
    return Effect.succeed(found(3))
  })
  const onClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(Clock.Clock, effectClock(clock)),
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  const app = Effect.gen(function* () {
    const account = yield* Effect.flatMap(Accounts, (it) => it.create({ ...terms, email: "test@example.com" }))
    const { secret } = yield* aKeyOf({ account }, "test")
    const { grant } = yield* Ledger
    const { send } = yield* TestApi.make
    return { account, grant, secret, send }
  })
  const built = Effect.flatMap(Layer.build(services(providers)), (context) => Effect.provideContext(app, context))
  const { account, grant, secret, send } = await Effect.runPromise(
    onClock(Effect.provideService(built, Scope.Scope, scope))
  )
  try {
    await use({
      apiKey: secret,
      clock,
      grant: (credits) => Effect.runPromise(onClock(Effect.asVoid(grant(account.id, credits, "for a test")))),
      send: (path, { method = "GET", ...init }) => Effect.runPromise(onClock(send(method, path, init)))
    })
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** The searches of the app, for the Quarry of tests. */
const search = ({ query }: TestSearch) => {
  if (query === "boom") throw new Error("a bug")
  if (query === "never") return "never"
  return query === "fail" ? "upstream_error" : found(3).rows
}

const query = fc.constantFrom("a", "b", " a  b ", "", "fail", "never", "boom", "\u0000")
const keys = fc.option(fc.constantFrom("one", "two", '"one"', "not valid"), { nil: undefined })
const fields = fc.record(
  {
    target: fc.constantFrom("alpha_search", "gamma_search", "omega_search"),
    geo: fc.constantFrom("us", "DE", "uk"),
    locale: fc.constantFrom("de-AT", "deutsch"),
    num: fc.constantFrom(1, 15, 21)
  },
  { requiredKeys: [] }
)
const page = fc.record(
  { page: fc.constantFrom(0, 1, 2, 6), safe: fc.constantFrom("off", "strict") },
  { requiredKeys: [] }
)

const keyed = (key: string | undefined): Record<string, string> => (key === undefined ? {} : { "idempotency-key": key })

const aQuery = fc.tuple(query, fields, page, keys).map(([query, fields, page, key]): Step => {
  const parameters = new URLSearchParams({ query })
  for (const [name, value] of Object.entries({ ...fields, ...page })) parameters.set(name, String(value))
  return { method: "GET", path: `/v1/query?${parameters}`, headers: keyed(key) }
})

const row = fc.oneof(
  query,
  fc.tuple(query, fields).map(([query, fields]) => ({ ...fields, query })),
  fc.constant(7)
)

const aBatch = fc.tuple(fc.array(row, { maxLength: 6 }), fields, keys, fc.boolean()).map(
  ([queries, fields, key, isStream]): Step => ({
    method: "POST",
    path: "/v1/bulk",
    headers: {
      "content-type": "application/json",
      ...keyed(key),
      ...(isStream ? { accept: "application/x-ndjson" } : {})
    },
    body: JSON.stringify({ ...fields, queries })
  })
)

const step = fc.oneof(
  { weight: 5, arbitrary: aQuery },
  { weight: 3, arbitrary: aBatch },
  { weight: 1, arbitrary: fc.constant<Step>({ method: "GET", path: "/v1/me", headers: {} }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>({ method: "GET", path: "/v1/me", headers: { authorization: "Bearer x" } })
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ method: "GET", path: "/v2", headers: {} }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 70_000 }).map((advanceMs): Step => ({ advanceMs })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }).map((grant): Step => ({ grant })) }
)

const terms = fc.oneof(
  fc.constantFrom<Terms>({ plan: "trial" }, { plan: "starter" }),
  fc.nat(8).map((quota): Terms => ({ plan: "custom", quota }))
)

it("the Quarry of tests answers any sequence as the server does, header by header", () =>
  fc.assert(
    fc.asyncProperty(terms, fc.array(step, { minLength: 5, maxLength: 25 }), (terms, steps) =>
      withApp(terms, (app) =>
        using({ ...terms, now, search, corsOrigins: [demoOrigin] }, async ({ fetch, baseUrl, ...test }) => {
          const send = async (path: string, init: RequestInit): Promise<Answer> => {
            const response = await fetch(baseUrl + path, init)
            return { status: response.status, headers: response.headers, text: await response.text() }
          }
          for (const step of steps) assert.deepStrictEqual(await take({ ...test, send }, step), await take(app, step))
        })
      )
    ),
    { numRuns: 12, endOnFailure: true }
  ))
