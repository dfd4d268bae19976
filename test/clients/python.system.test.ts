import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Random, Scope } from "effect"
import * as Audit from "../../torture/support/Audit.ts"
import { Findings } from "../../torture/support/Findings.ts"
import * as Replica from "../../torture/support/Replica.ts"
import * as Stage from "../../torture/support/Stage.ts"
import * as Store from "../../torture/support/Store.ts"
import { describeWithPython, python } from "../support/processes/Python.ts"
import { temporaryDirectory } from "../support/processes/Spawned.ts"
import * as CuttingProxy from "../support/servers/CuttingProxy.ts"
import { describeWithPostgres } from "../support/stores/Postgres.ts"

/** `QUARRY_CLIENT_CALLS=10000 npx vitest run test/clients/python.system.test.ts` is the whole promise. */
const callsOfEach = Number(process.env.QUARRY_CLIENT_CALLS ?? 100)

const isShort = callsOfEach < 5000

const timeout = 3_600_000

interface Call {
  readonly call: number
  readonly kind: "query" | "bulk" | "stream"
  readonly queries: ReadonlyArray<string>
  readonly secret: string
  readonly timeout?: number
  readonly idempotency_key?: string
}

interface Ended {
  readonly call: number
  /** `answer`, or the code of a typed error. */
  readonly end: string
  /** What came of each row, by its index. */
  readonly rows?: Readonly<Record<string, { readonly id: string | null; readonly status: string }>>
  readonly charged?: boolean | null
  readonly key?: string | null
  readonly credits?: number | null
  readonly replayed?: boolean
  readonly is_typed?: boolean
  readonly trace?: string
}

/** One customer has a limit that its calls exceed, and gives up before there is room. */
const tightShare = 0.4
const tightTimeoutSeconds = 5

/** A call that waits for the hold of a crashed replica gives up earlier than by itself. */
const shortTimeoutSeconds = 20

const aCall = Effect.fnUntraced(function* (face: string, call: number, ample: string, tight: string) {
  const isTight = (yield* Random.next) < tightShare
  const chance = yield* Random.next
  const kind = chance < 0.8 ? "query" : chance < 0.9 ? "bulk" : "stream"
  const rows = kind === "query" ? 1 : yield* Random.nextIntBetween(2, 6)
  const texts = Array.from({ length: rows }, (_, row) => `${face} ${call} row ${row}`)
  const queries = yield* Effect.forEach(texts, (text) =>
    Effect.map(Random.next, (chance) => (chance < 0.02 ? `${text} fail` : chance < 0.3 ? `${text} wait80` : text))
  )
  const made: Call = { call, kind, queries, secret: isTight ? tight : ample }
  if (isTight) return { ...made, timeout: tightTimeoutSeconds }
  return isShort ? { ...made, timeout: shortTimeoutSeconds } : made
})

/** Runs calls in the Python client, and says how each of them ended. */
const run = Effect.fnUntraced(function* (url: string, face: string, calls: ReadonlyArray<Call>) {
  const file = join(yield* temporaryDirectory, "calls.jsonl")
  yield* Effect.promise(() => writeFile(file, calls.map((call) => JSON.stringify(call)).join("\n")))
  const { code, stderr, stdout } = yield* python(["-m", "tests.calls_under_faults", url, face, file], {})
  assert.deepStrictEqual([code, stderr], [0, ""])
  const ends: ReadonlyArray<Ended> = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
  return new Map(ends.map((end) => [end.call, end]))
})

/** Restarts the replicas by turns, by SIGTERM and by SIGKILL, until it is interrupted. */
const restarting = (how: Replica.ReplicaOptions) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const begin = Effect.gen(function* () {
      const life = yield* Scope.fork(scope)
      return { life, replica: yield* Replica.start(how).pipe(Scope.provide(life)) }
    })
    const living = [yield* begin, yield* begin]
    let restarts = 0
    const restart = Effect.gen(function* () {
      yield* Effect.sleep(yield* Random.nextIntBetween(1000, 4000))
      const [oldest] = living.splice(0, 1)
      if (oldest === undefined) return
      oldest.replica.signal(restarts++ % 2 === 0 ? "SIGTERM" : "SIGKILL")
      yield* oldest.replica.ended
      yield* Scope.close(oldest.life, Exit.void)
      living.push(yield* begin)
    })
    const fiber = yield* Effect.forkScoped(Effect.forever(restart))
    return {
      ports: () => living.map(({ replica }) => replica.port),
      restarts: () => restarts,
      stop: Effect.gen(function* () {
        yield* Fiber.interrupt(fiber)
        if (living.length === 0) living.push(yield* begin)
      })
    }
  })

/** Credits of each search in the log, by its query, and the id of its answer. */
const charges = Effect.fnUntraced(function* (store: Store.Store) {
  const rows = yield* store.sql<{ readonly query: string; readonly id: string; readonly credits: number }>`
    select query, id, credits from queries`
  const byQuery = new Map<string, ReadonlyArray<{ readonly id: string; readonly credits: number }>>()
  for (const row of rows) byQuery.set(row.query, [...(byQuery.get(row.query) ?? []), row])
  return byQuery
})

/** What the books have of a call beside what its caller knows: a list of contradictions. */
const contradictions = (
  { kind, queries }: Call,
  end: Ended,
  log: Effect.Success<ReturnType<typeof charges>>
): ReadonlyArray<string> => {
  if (end.end === "untyped" || end.is_typed === false) return [`ended with no typed error: ${end.trace ?? end.end}`]
  const found = queries.map((query) => log.get(query) ?? [])
  const credits = found.flat().reduce((sum, entry) => sum + entry.credits, 0)
  const faults: Array<string> = []
  if (found.some((entries) => entries.length > 1)) faults.push("a search was charged twice")
  for (const [index, { id, status }] of Object.entries(end.rows ?? {})) {
    const [entry] = found[Number(index)] ?? []
    if (entry === undefined) faults.push(`row ${index} was answered ${status}, and is not charged`)
    else if (id !== null && `qry_${entry.id.replace(/^qry_/, "")}` !== id) faults.push(`row ${index} has another id`)
  }
  if (end.end === "answer") {
    if (credits !== queries.length) faults.push(`${queries.length} searches were answered, ${credits} charged`)
    if (end.replayed !== true && end.credits !== credits) faults.push(`said ${end.credits} credits, took ${credits}`)
  } else if (end.charged === true && credits !== queries.length) faults.push(`said charged, took ${credits}`)
  else if (end.charged === false && credits !== 0) faults.push(`said not charged, took ${credits}`)
  return faults.map((fault) => `${kind} "${queries[0]}" (${end.end}): ${fault}`)
}

const tally = (ends: Iterable<Ended>): string => {
  const counts = new Map<string, number>()
  for (const { charged, end } of ends) {
    const name = end === "answer" ? end : `${end} (charged: ${charged ?? "unknown"})`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => `${count} ${name}`).join(", ")
}

const underFaults = Effect.fnUntraced(function* (face: "sync" | "async") {
  const { how, store } = yield* Stage.make({ replicas: 0 })
  const ample = yield* Store.customer(store, { quota: 1_000_000 })
  const tight = yield* Store.customer(store, { quota: 1_000_000, concurrency: 1 })
  const replicas = yield* restarting(how)
  const proxy = yield* CuttingProxy.start(replicas.ports)
  const url = `http://127.0.0.1:${proxy.port}`
  const calls = yield* Effect.forEach(Array.from({ length: callsOfEach }), (_, call) =>
    aCall(face, call, ample.secret, tight.secret)
  )
  const ends = yield* run(url, face, calls)
  yield* replicas.stop
  yield* proxy.stopCutting
  assert.strictEqual(ends.size, calls.length, "every call ended")
  console.log(`${face}: ${tally(ends.values())}; ${proxy.cuts()} cuts, ${replicas.restarts()} restarts`)

  // A crash gives its credits back within two minutes, which a short run does not wait for.
  if (isShort) yield* Audit.endLeases(store)
  yield* Audit.holdsEnd(store)
  const log = yield* charges(store)
  const faults = calls.flatMap((call) => contradictions(call, ends.get(call.call) ?? assert.fail(), log))
  assert.deepStrictEqual(faults, [])

  // Where an answer was lost, the same key brings it, and nothing is paid twice.
  yield* store.accounts.setPlan(tight.accountId, { plan: "custom", quota: 1_000_000, concurrency: 10_000 })
  const open = calls.flatMap((call) => {
    const { charged, end, key } = ends.get(call.call) ?? assert.fail()
    return end !== "answer" && charged === null && typeof key === "string"
      ? [{ ...call, timeout: 120, idempotency_key: key }]
      : []
  })
  const again = open.length === 0 ? new Map<number, Ended>() : yield* run(url, face, open)
  console.log(`${face}: of ${open.length} whose answer was lost, ${tally(again.values()) || "none"} at last`)
  const last = yield* charges(store)
  for (const call of open) {
    const end = again.get(call.call) ?? assert.fail()
    assert.include(["answer", "upstream_error", "upstream_timeout"], end.end)
    assert.deepStrictEqual(contradictions(call, end, last), [])
  }
  yield* Audit.verified(store)
  assert.deepStrictEqual(yield* Effect.flatMap(Findings, ({ violations }) => violations), [])
})

describeWithPostgres("the Python client against a service that is broken on purpose", () => {
  describeWithPython("through a proxy that cuts connections, beside restarts and spent limits", () => {
    for (const face of ["sync", "async"] as const) {
      it.live(
        `R44: every ${face} call ends as an answer or a typed error, and what was charged was answered, nothing twice`,
        () => underFaults(face).pipe(Effect.provide(Findings.layer)),
        timeout
      )
    }
  })
})
