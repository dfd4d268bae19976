import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import pg from "pg"
import { short } from "../../bench/support/Scale.ts"
import * as Stage from "../../bench/support/Stage.ts"
import * as Subject from "../../bench/support/Subject.ts"
import { describeWithServers } from "../support/servers/PostgresServer.ts"
import { describeWithRedis } from "../support/servers/RedisServer.ts"

const timeout = 300_000

interface Asked {
  readonly path: string
  readonly secret?: string | undefined
  readonly body?: unknown
  readonly requestId?: string
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** What clients may rely on; the others are of the server and the connection. */
const isOurs = (name: string): boolean => /^(x-|ratelimit|retry-after$|content-type$)/.test(name)

const ask = (url: string, { body, path, requestId, secret }: Asked) =>
  Effect.promise(async (): Promise<Answer> => {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...(requestId === undefined ? {} : { "x-request-id": requestId }),
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return {
      status: response.status,
      headers: Object.fromEntries([...response.headers].filter(([name]) => isOurs(name))),
      body: await response.json()
    }
  })

/** What differs from one request to the next, and the words for what is wrong, which each side chooses. */
const varying = /^(id|batch_id|request_id|message|issues|x-request-id|ratelimit|x-ratelimit-reset|content-type)$/

/** With what varies told by its type alone. */
const shape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shape)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([name, inner]) => [name, varying.test(name) ? typeof inner : shape(inner)])
  )
}

const shapeOf = ({ body, headers, status }: Answer) => ({ status, headers: shape(headers), body: shape(body) })

const requestsOf = ({ refused, secrets: [secret] }: Stage.Stage): ReadonlyArray<readonly [string, Asked]> => [
  ["a search", { secret, path: "/v1/query?query=quarry" }],
  ["the same search again", { secret, path: "/v1/query?query=quarry" }],
  ["every parameter", { secret, path: "/v1/query?query=%20a%20%20b&geo=JP&locale=de-DE&num=3&safe=strict&source=x" }],
  ["a request id", { secret, path: "/v1/query?query=q", requestId: "6F9619FF-8B86-D011-B42D-00C04FC964FF" }],
  ["nothing to look for", { secret, path: "/v1/query?query=" }],
  ["an unknown country", { secret, path: "/v1/query?query=q&geo=xx" }],
  ["a page not served", { secret, path: "/v1/query?query=q&target=beta_search&page=2" }],
  ["no key", { path: "/v1/query?query=q" }],
  ["no credits", { secret: refused.withoutCredits, path: "/v1/query?query=q" }],
  ["an unknown path", { path: "/v1/nothing" }],
  ["a batch", { secret, path: "/v1/bulk", body: { queries: ["one", { query: "two", num: 2 }, { geo: "us" }, 3] } }],
  ["a batch of nothing", { secret, path: "/v1/bulk", body: { queries: [] } }],
  ["a batch without credits", { secret: refused.withoutCredits, path: "/v1/bulk", body: { queries: ["a", "b"] } }]
]

const queryOne = (url: string, text: string) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows[0]
  })

describeWithRedis("the benchmark's baseline", () => {
  describeWithServers("on a Postgres of its own", () => {
    it.live(
      "answers every request with the status, the headers and the body that Quarry answers",
      () =>
        Effect.gen(function* () {
          const stage = yield* Stage.make(short)
          const quarry = yield* stage.quarry
          const baselines = [
            yield* stage.baseline,
            // With a Redis database of its own: the two would count each other's requests.
            yield* Subject.baseline(
              { ...(yield* stage.freshBaseline), redisUrl: `${stage.stores.redisUrl}/1` },
              "statements"
            )
          ]
          for (const [name, asked] of requestsOf(stage)) {
            const wanted = shapeOf(yield* ask(`${quarry.urls[0]}`, asked))
            for (const other of baselines) {
              assert.deepStrictEqual(shapeOf(yield* ask(`${other.urls[0]}`, asked)), wanted, `${other.name}: ${name}`)
            }
          }
        }),
      timeout
    )

    it.live(
      "the floor answers the benchmark's requests as Quarry does",
      () =>
        Effect.gen(function* () {
          const stage = yield* Stage.make(short)
          const quarry = yield* stage.quarry
          const floor = yield* stage.floor
          // The two share a database: each has an account of its own.
          const [first, second] = stage.secrets
          const served = ["a search", "the same search again", "no key", "no credits", "a batch without credits"]
          const requests: ReadonlyArray<readonly [string, Asked]> = [
            ...requestsOf(stage).filter(([name]) => served.includes(name)),
            ["a batch", { secret: first, path: "/v1/bulk", body: { queries: ["one", "two"] } }]
          ]
          for (const [name, asked] of requests) {
            const secret = asked.secret === first ? second : asked.secret
            const wanted = shapeOf(yield* ask(`${quarry.urls[0]}`, asked))
            assert.deepStrictEqual(shapeOf(yield* ask(`${floor.urls[0]}`, { ...asked, secret })), wanted, name)
          }
        }),
      timeout
    )

    it.live(
      "charges each search once and never more than the quota, however many come at once",
      () =>
        Effect.gen(function* () {
          const stage = yield* Stage.make(short)
          const [secret] = stage.secrets
          for (const ledger of ["transactions", "statements"] as const) {
            const ground = yield* stage.freshBaseline
            yield* queryOne(ground.databaseUrl, "update accounts set quota = 20, balance = 7")
            const { urls } = yield* Subject.baseline(ground, ledger)
            const asked = Array.from({ length: 60 }, (_, n) => ({ secret, path: `/v1/query?query=${ledger}+${n}` }))
            const batch = { secret, path: "/v1/bulk", body: { queries: ["a", "b", "c"] } }
            const answers = yield* Effect.forEach([batch, ...asked], (one) => ask(`${urls[0]}`, one), {
              concurrency: "unbounded"
            })
            const told = answers.reduce((sum, { headers }) => sum + Number(headers["x-credits-used"]), 0)
            assert.isTrue(answers.every(({ status }) => status === 200 || status === 402))
            const books = yield* queryOne(
              ground.databaseUrl,
              `select (select max(used)::int from accounts) as used, (select min(balance)::int from accounts) as balance,
                (select -sum(quota_credits + balance_credits)::int from ledger_entries) as entered,
                (select count(*)::int from queries) as logged, (select count(*)::int from holds) as held`
            )
            assert.deepStrictEqual(books, { used: 20, balance: 0, entered: 27, logged: 27, held: 0 }, ledger)
            assert.strictEqual(told, 27, ledger)
          }
        }),
      timeout
    )
  })
})
