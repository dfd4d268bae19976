import { Effect, Fiber, Random } from "effect"
import {
  type BulkLine,
  createQuarry,
  isQuarryError,
  type Quarry,
  type QuarryError
} from "../../clients/typescript/src/index.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import * as FaultyNetwork from "../support/FaultyNetwork.ts"
import { Findings } from "../support/Findings.ts"
import { uniqueQuery } from "../support/Load.ts"
import * as Replica from "../support/Replica.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const callsOfRound = 500
const callsOfShortRound = 150
const callers = 40
const rowsOfBatch = 5
const callMs = 15_000

/** The limit of one account, 60 per minute, is soon exhausted. Its calls have no time to wait. */
const hurriedMs = 2_000

const kinds = ["query", "query", "query", "query", "bulk", "bulk", "stream", "keyed stream", "me"] as const

interface Call {
  readonly kind: (typeof kinds)[number]
  readonly key: string
  readonly queries: ReadonlyArray<string>
  readonly quarry: Quarry
}

/** The result of a call: the ids of its answers by query, or its error. */
interface End {
  readonly call: Call
  readonly ids: ReadonlyMap<string, string>
  readonly error: QuarryError | undefined
}

/** Fates of connections: most break after a few calls, some get a proxy's own page, some last. */
const fateOf = (): FaultyNetwork.Fate => {
  const dice = Math.random()
  if (dice < 0.1)
    return { answer: "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" }
  if (dice < 0.15)
    return { answer: "HTTP/1.1 429 Slow\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" }
  if (dice < 0.85) return { bytes: Math.floor(Math.random() ** 2 * 20_000), isReset: Math.random() < 0.5 }
  return "carried"
}

let made = 0

const aCall = Effect.fnUntraced(function* (quarries: ReadonlyArray<Quarry>) {
  const kind = kinds[yield* Random.nextIntBetween(0, kinds.length, { halfOpen: true })] ?? "me"
  const rows = kind === "me" ? 0 : kind === "query" ? 1 : rowsOfBatch
  const queries = yield* Effect.replicateEffect(uniqueQuery, rows)
  const quarry = quarries[made % quarries.length]
  if (quarry === undefined) return yield* Effect.die("there is a client")
  return { kind, key: `call-${made++}`, queries, quarry } satisfies Call
})

/** Makes a call, with its key if it has one, and collects the answers. */
const make = (call: Call, quarry: Quarry = call.quarry) =>
  Effect.promise(async (): Promise<End> => {
    const { key, kind, queries } = call
    const ids = new Map<string, string>()
    const add = (line: BulkLine) => {
      if (line.type === "row" && line.status === "ok") ids.set(line.query, line.id)
    }
    try {
      if (kind === "me") await quarry.me()
      else if (kind === "query") {
        const { id, query } = await quarry.query(queries[0] ?? "", { idempotencyKey: key })
        ids.set(query, id)
      } else if (kind === "bulk") {
        const { results } = await quarry.bulk(queries, { idempotencyKey: key })
        for (const row of results) if (row.status === "ok") ids.set(row.query, row.id)
      } else {
        const options = kind === "stream" ? {} : { idempotencyKey: key }
        for await (const line of quarry.stream(queries, options)) add(line)
      }
      return { call, ids, error: undefined }
    } catch (error) {
      if (isQuarryError(error)) return { call, ids, error }
      throw error
    }
  })

/** Counts by name, such as `answered: 17, timeout: 2`. */
const tally = (ends: ReadonlyArray<End>): string => {
  const counts = new Map<string, number>()
  for (const { error } of ends) {
    const name = error?.error ?? "answered"
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return Array.from(counts, ([name, count]) => `${name}: ${count}`).join(", ")
}

/** Makes calls, some concurrently, while the server behind the network stops and is soon replaced. */
const storm = Effect.fnUntraced(function* (
  network: FaultyNetwork.FaultyNetwork,
  [mortal, heir]: readonly [Replica.Replica, Replica.Replica],
  calls: ReadonlyArray<Call>,
  signal: "SIGKILL" | "SIGTERM"
) {
  network.target = mortal.port
  const running = yield* Effect.forkChild(Effect.forEach(calls, (call) => make(call), { concurrency: callers }))
  yield* Effect.sleep(yield* Random.nextIntBetween(500, 2000))
  mortal.signal(signal)
  yield* mortal.ended
  network.target = undefined
  yield* Effect.sleep(yield* Random.nextIntBetween(0, 2000))
  network.target = heir.port
  return yield* Fiber.join(running)
})

/** Log entries by query. */
const charges = Effect.fnUntraced(function* (store: Store.Store) {
  const rows = yield* store.sql<{
    readonly query: string
    readonly id: string
    readonly credits: number
    readonly outcome: string
  }>`
    select query, id, credits, outcome from queries`
  return Map.groupBy(rows, ({ query }) => query)
})

/** Checks that each search was charged at most once, and under the id that its caller received. */
const compare = Effect.fnUntraced(function* (store: Store.Store, ends: ReadonlyArray<End>) {
  const findings = yield* Findings
  const charged = yield* charges(store)
  let answered = 0
  for (const { call, error, ids } of ends) {
    for (const query of call.queries) {
      const [entry, second] = charged.get(query) ?? []
      const id = ids.get(query)
      if (second !== undefined) yield* findings.violation(`${call.kind} "${query}" was charged twice`)
      if (entry !== undefined && entry.credits !== 1) yield* findings.violation(`"${query}" cost ${entry.credits}`)
      if (id !== undefined) answered++
      if (id !== undefined && id !== entry?.id)
        yield* findings.violation(`${call.kind} "${query}" has ${id}, not ${entry?.id}`)
      const isFailed = error?.error === "upstream_error" || entry?.outcome !== "ok"
      if (id === undefined && error === undefined && !isFailed)
        yield* findings.violation(`"${query}" was charged for nothing`)
      charged.delete(query)
    }
  }
  for (const query of charged.keys()) yield* findings.violation(`"${query}" is charged, but nobody asked for it`)
  return answered
})

/** Retries failed calls with their keys, over a network without faults. */
const recover = Effect.fnUntraced(function* (
  replica: Replica.Replica,
  apiKeyOf: (call: Call) => string,
  ends: ReadonlyArray<End>
) {
  return yield* Effect.forEach(
    ends,
    (end) => {
      const { call, error } = end
      // A 502 is an answer. A stream without a key cannot be retried.
      if (error === undefined || error.error === "upstream_error" || call.kind === "stream") return Effect.succeed(end)
      return make(call, createQuarry({ baseUrl: replica.url, apiKey: apiKeyOf(call) }))
    },
    { concurrency: callers }
  )
})

export const typescript: Scenario = {
  name: "typescript",
  promise:
    "calls of the TypeScript client end as answers or typed errors, and what was charged is what was answered, once",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const { how, store } = yield* Stage.make({ replicas: 0 })
    const network = yield* FaultyNetwork.start(fateOf)
    const unlimited = yield* Store.customer(store, { quota: 1_000_000 })
    const hurried = yield* Store.customer(store, { quota: 1_000_000, concurrency: 1 })
    const client = ({ secret }: Store.Customer, timeoutMs: number) =>
      createQuarry({ baseUrl: network.url, apiKey: secret, timeoutMs })
    const patient = client(unlimited, callMs)
    const impatient = client(hurried, hurriedMs)
    const all: Array<End> = []
    let replica = yield* Replica.start(how)
    for (let round = 1; round <= rounds; round++) {
      const quarries = [patient, patient, patient, patient, impatient]
      const calls = yield* Effect.replicateEffect(aCall(quarries), short ? callsOfShortRound : callsOfRound)
      const signal = round % 2 === 1 ? "SIGKILL" : "SIGTERM"
      const heir = yield* Replica.start(how)
      const ends = yield* storm(network, [replica, heir], calls, signal)
      replica = heir
      const attempts = ends.reduce((sum, { error }) => sum + (error?.attempts ?? 1), 0)
      yield* findings.note(`round ${round}, ${signal}: ${tally(ends)} (at least ${attempts} requests)`)
      yield* compare(store, [...all, ...ends])
      if (short) yield* Audit.endLeases(store)
      yield* Audit.holdsEnd(store)
      const recovered = yield* recover(heir, ({ quarry }) => (quarry === patient ? unlimited : hurried).secret, ends)
      yield* findings.note(`by their keys: ${tally(recovered)}`)
      all.push(...recovered)
    }
    const answered = yield* compare(store, all)
    yield* Audit.verified(store)
    yield* findings.note(`${all.length} calls, ${answered} searches answered, each charged once`)
  })
}
