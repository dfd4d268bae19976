import { Effect, Exit, Random, Redacted, Scope } from "effect"
import { redisServer } from "../../test/support/servers/RedisServer.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import { Findings } from "../support/Findings.ts"
import { uniqueQuery } from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const keys = 100
const repeats = 10
const rowsOfBatch = 5

/** A request that its client may repeat with the same key. */
interface Keyed {
  readonly key: string
  readonly queries: ReadonlyArray<string>
}

interface Received {
  readonly status: number
  /** The body without the request id, which differs between responses. */
  readonly text: string
  readonly isReplay: boolean
  readonly creditsUsed: number
}

let made = 0

/** Every fifth request is a batch. */
const aKeyed = Effect.gen(function* () {
  const number = ++made
  const queries = yield* Effect.replicateEffect(uniqueQuery, number % 5 === 0 ? rowsOfBatch : 1)
  return { key: `key-${number}`, queries } satisfies Keyed
})

const exchange = (url: string, secret: string, { key, queries }: Keyed) =>
  Effect.promise(async (): Promise<Received | undefined> => {
    const headers = { authorization: `Bearer ${secret}`, "idempotency-key": key, "content-type": "application/json" }
    const [query = ""] = queries
    try {
      const response = await (queries.length === 1
        ? fetch(`${url}/v1/query?query=${encodeURIComponent(query)}`, { headers })
        : fetch(`${url}/v1/bulk`, { method: "POST", headers, body: JSON.stringify({ queries }) }))
      return {
        status: response.status,
        text: (await response.text()).replace(/"request_id":"[^"]*"/, ""),
        isReplay: response.headers.has("idempotent-replayed"),
        creditsUsed: Number(response.headers.get("x-credits-used") ?? 0)
      }
    } catch {
      return undefined
    }
  })

/**
 * Sends a request, and retries after Retry-After if the first request with its key is running or the replica is full.
 */
const send = (url: string, secret: string, keyed: Keyed): Effect.Effect<Received | undefined> =>
  Effect.flatMap(exchange(url, secret, keyed), (received) =>
    received?.status === 409 || received?.status === 429
      ? Effect.andThen(Effect.sleep("1 second"), send(url, secret, keyed))
      : Effect.succeed(received)
  )

const isCharged = ({ status }: Received): boolean => [200, 502, 504].includes(status)

/** Statuses of responses, such as `200,200,none`. */
const statuses = (answers: ReadonlyArray<Received | undefined>): string =>
  answers.map((answer) => answer?.status ?? "none").join(",")

/** Checks that all responses to a key are the same answer, and that at most one of them was charged. */
const compare = Effect.fnUntraced(function* ({ key }: Keyed, answers: ReadonlyArray<Received | undefined>) {
  const findings = yield* Findings
  const charged = answers.filter((answer) => answer !== undefined && isCharged(answer))
  const texts = new Set(charged.map((answer) => `${answer?.status} ${answer?.text}`))
  if (texts.size > 1) yield* findings.violation(`${key} has ${texts.size} answers: ${[...texts].join(" | ")}`)
  if (charged.filter((answer) => answer?.isReplay === false).length > 1) {
    yield* findings.violation(`${key} has more than one answer that is not a replay`)
  }
  if (charged.some((answer) => answer?.isReplay === true && answer.creditsUsed !== 0)) {
    yield* findings.violation(`${key} has a replay that cost something`)
  }
  return charged.length
})

/** Checks that each search of the keys is charged once, and nothing else is charged. */
const auditKeys = Effect.fnUntraced(function* (
  store: Store.Store,
  { accountId }: Store.Customer,
  asked: ReadonlyArray<Keyed>
) {
  const findings = yield* Findings
  const rows = yield* store.sql<{ readonly query: string; readonly n: number }>`
    select query, sum(credits)::integer as n from queries where account_id = ${accountId} group by query`
  const charges = new Map(rows.map(({ n, query }) => [query, n]))
  for (const query of asked.flatMap(({ queries }) => queries)) {
    if (charges.get(query) !== 1) yield* findings.violation(`"${query}" was charged ${charges.get(query) ?? 0} times`)
    charges.delete(query)
  }
  for (const query of charges.keys()) yield* findings.violation(`"${query}" is logged, but nobody asked for it`)
  yield* Audit.verified(store)
  yield* findings.note(`${asked.length} keys, ${rows.length} searches, each charged once`)
})

/** Sends each request several times concurrently, to different replicas. */
const storm = (
  replicas: () => ReadonlyArray<Replica.Replica>,
  { secret }: Store.Customer,
  asked: ReadonlyArray<Keyed>
) =>
  Effect.forEach(
    asked,
    (keyed) =>
      Effect.forEach(
        Array.from({ length: repeats }),
        Effect.fnUntraced(function* () {
          const all = replicas()
          const replica = all[yield* Random.nextIntBetween(0, all.length, { halfOpen: true })]
          return replica === undefined ? undefined : yield* send(replica.url, secret, keyed)
        }),
        { concurrency: "unbounded" }
      ),
    { concurrency: "unbounded" }
  )

const env = Effect.map(redisServer, (server) => ({ REDIS_URL: Redacted.value(server.url()) }))

export const idempotency: Scenario = {
  name: "idempotency",
  promise: "R44: requests with one key are charged once over four replicas, also where one is killed meanwhile",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const { how, replicas, store } = yield* Stage.make({ replicas: 4, env: yield* env })
    const customer = yield* Store.customer(store, { quota: 1_000_000 })

    const asked = yield* Effect.replicateEffect(aKeyed, keys)
    const answers = yield* storm(() => replicas, customer, asked)
    for (const [index, keyed] of asked.entries()) {
      const charged = yield* compare(keyed, answers[index] ?? [])
      if (charged !== repeats) yield* findings.violation(`${keyed.key} was answered ${statuses(answers[index] ?? [])}`)
    }
    yield* findings.note(`${keys * repeats} requests with ${keys} keys over ${replicas.length} replicas`)

    const [survivor] = replicas
    if (survivor === undefined) return
    for (let round = 1; round <= rounds; round++) {
      const life = yield* Scope.make()
      const mortal = yield* Replica.start(how).pipe(Scope.provide(life))
      const more = yield* Effect.replicateEffect(aKeyed, keys)
      const wait = yield* Random.nextIntBetween(500, 2500)
      const [stormed] = yield* Effect.all(
        [
          storm(() => [survivor, mortal, mortal], customer, more),
          Effect.gen(function* () {
            yield* Effect.sleep(wait)
            mortal.signal("SIGKILL")
            yield* mortal.ended
            const [left] = yield* store.sql<{ readonly n: number }>`select count(*)::integer as n from holds`
            yield* findings.note(`killed after ${wait} ms with ${left?.n} holds open`)
            if (short) yield* Audit.endLeases(store)
          })
        ],
        { concurrency: "unbounded" }
      )
      yield* mortal.ended
      yield* Scope.close(life, Exit.void)
      if (short) yield* Audit.endLeases(store)
      yield* Audit.holdsEnd(store)
      const cut = stormed.flat().filter((answer) => answer === undefined).length
      if (cut === 0) yield* findings.note(`the kill of round ${round} came too late`)
      // Either charged and replayable, or uncharged and runnable: another retry succeeds and agrees with the others.
      const last = yield* Effect.forEach(more, (keyed) => send(survivor.url, customer.secret, keyed), {
        concurrency: 20
      })
      let replayed = 0
      for (const [index, keyed] of more.entries()) {
        const end = last[index]
        if (end === undefined || !isCharged(end)) yield* findings.violation(`${keyed.key} ends with ${end?.status}`)
        if (end?.isReplay === true) replayed++
        yield* compare(keyed, [...(stormed[index] ?? []), end])
      }
      yield* findings.note(`kill ${round}: ${cut} cut off; ${replayed} keys replayed, ${keys - replayed} run again`)
      asked.push(...more)
    }
    yield* auditKeys(store, customer, asked)
  })
}
