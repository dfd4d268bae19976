import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { logEntry } from "../../test/support/api/requests.ts"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import { Findings } from "../support/Findings.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"
import { cpuMs } from "../support/Subprocess.ts"

const inFlight = 64
const accounts = 1000
const wanted = { service: 1000, ledger: 10_000 }
/** Share of the work done before measuring, so that Node compiles hot code. */
const warmUp = 0.2

const record = (accountId: string) => logEntry({ id: `qry_${randomUUID().replaceAll("-", "")}`, accountId }, "torture")

/** Runs an effect `count` times with limited concurrency. Returns the rate per second and the CPU time of each. */
const measure = Effect.fnUntraced(function* <E>(
  count: number,
  concurrency: number,
  pid: number,
  one: (n: number) => Effect.Effect<unknown, E>
) {
  const run = (from: number, to: number) =>
    Effect.forEach(
      Array.from({ length: to - from }, (_, n) => from + n),
      one,
      { concurrency, discard: true }
    )
  const first = Math.floor(count * warmUp)
  yield* run(0, first)
  const cpuBefore = cpuMs(pid)
  const startedAt = performance.now()
  yield* run(first, count)
  const seconds = (performance.now() - startedAt) / 1000
  return {
    perSecond: Math.round((count - first) / seconds),
    cpuMicros: Math.round(((cpuMs(pid) - cpuBefore) * 1000) / (count - first))
  }
})

export const throughput: Scenario = {
  name: "throughput",
  promise: `one hot account ${wanted.service} searches a second through the service, ${accounts} accounts ${wanted.ledger} reserve + settle pairs a second at the ledger`,
  rounds: 1,
  run: Effect.fnUntraced(function* ({ rounds, short }) {
    const findings = yield* Findings
    const { client, replicas, store } = yield* Stage.make({ replicas: 1 })
    const [replica] = replicas
    if (replica === undefined) return
    const pair = Effect.fnUntraced(function* (accountId: string) {
      const account = accountsById.get(accountId)
      if (account === undefined) return
      const hold = yield* store.ledger.reserve(account, 1)
      yield* store.ledger.settle(hold, [record(accountId)])
    })
    const customers = yield* Effect.replicateEffect(
      Store.customer(store, { quota: 1_000_000_000 }),
      short ? 100 : accounts
    )
    const [hot] = customers
    const accountsById = new Map(
      yield* Effect.forEach(customers, ({ accountId }) =>
        Effect.map(store.accounts.byId(accountId), (account) => [accountId, account] as const)
      )
    )
    if (hot === undefined) return

    for (let round = 1; round <= rounds; round++) {
      // A single query, cached after its first search. Every request is still reserved, charged and logged.
      let failed = 0
      const served = yield* measure(short ? 2000 : 20_000, inFlight, replica.pid, () =>
        Effect.map(client.search(replica.url, hot.secret, "torture"), ({ status }) => {
          if (status !== 200) failed++
        })
      )
      yield* findings.note(
        `one account through HTTP: ${served.perSecond} a second, ${served.cpuMicros} µs of the server's CPU for each`
      )
      if (failed > 0) yield* findings.violation(`${failed} were not answered 200`)
      const single = yield* measure(short ? 5000 : 50_000, inFlight, process.pid, () => pair(hot.accountId))
      yield* findings.note(
        `one account at the ledger: ${single.perSecond} pairs a second, ${single.cpuMicros} µs of Node's CPU for each`
      )
      const many = yield* measure(short ? 10_000 : 100_000, 512, process.pid, (n) =>
        pair(customers[n % customers.length]?.accountId ?? "")
      )
      yield* findings.note(
        `${customers.length} accounts at the ledger: ${many.perSecond} pairs a second, ${many.cpuMicros} µs of Node's CPU for each`
      )
      if (served.perSecond < wanted.service)
        yield* findings.violation(`below ${wanted.service} a second through the service`)
      if (many.perSecond < wanted.ledger)
        yield* findings.violation(`below ${wanted.ledger} pairs a second at the ledger`)
    }
    yield* Audit.verified(store)
  })
}
