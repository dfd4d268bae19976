import { Effect } from "effect"
import fc from "fast-check"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import * as CostServer from "../support/CostServer.ts"
import * as Costs from "../support/Costs.ts"
import * as CostUnits from "../support/CostUnits.ts"
import * as deliveryCosts from "../support/deliveryCosts.ts"
import { Findings } from "../support/Findings.ts"
import { requestsTo } from "../support/RandomRequests.ts"
import type * as Store from "../support/Store.ts"
import * as Wallet from "../support/Wallet.ts"

/** A round has at least 1,000 requests: hostile ones, each in one to four sizes, and random ones. */
const laddersOfRound = 180
const randomOfRound = 580

/** Rounds of a short run with the seeds 1, 2, …; the others have new seeds. */
const fixedRounds = 10

const seedsOf = (first: number, rounds: number, short: boolean): ReadonlyArray<number> =>
  Array.from({ length: rounds }, (_, n) => (short && n < fixedRounds ? n + 1 : first + n))

/** The credits of all entries in the query log. */
const loggedCredits = ({ sql }: Store.Store) =>
  Effect.map(
    sql<{ readonly credits: number }>`select coalesce(sum(credits), 0)::integer as credits from queries`,
    ([row]) => row?.credits ?? 0
  )

const format = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort()
    .map(([name, count]) => `${name}: ${count}`)
    .join(", ")

/** Makes a function that sends the requests of one seed. */
const makeRound = Effect.fnUntraced(function* (
  server: CostServer.CostServer,
  costs: Costs.Costs,
  options: { readonly tally: CostUnits.Tally; readonly short: boolean }
) {
  const findings = yield* Findings
  const { call, cookie, document, replica, routes, store } = server
  const { tally } = options
  const ladders = CostUnits.laddersOf(server)
  const requests = requestsTo(routes, document)

  const sendAll = Effect.fnUntraced(function* (seed: number) {
    const spare = yield* Wallet.makeSpare(call, cookie)
    const { cookie: disposable } = yield* Wallet.newPerson(call)
    const round: CostUnits.Round = { server, ...options, spare, disposable }
    const start = (seed - 1) * laddersOfRound
    for (let n = start; n < start + laddersOfRound; n++) {
      const ladder = ladders[n % ladders.length]
      if (ladder !== undefined) yield* costs.measureGrowth(ladder.units(round))
    }
    for (const request of fc.sample(requests, { seed, numRuns: randomOfRound }))
      yield* costs.measure(CostUnits.ofRequest(round, request))
    yield* costs.untilIdle
    yield* Wallet.removeOthers(call, cookie)
  })

  return Effect.fnUntraced(function* (seed: number) {
    const violationsBefore = (yield* findings.violations).length
    const [loggedBefore, toldBefore] = [yield* loggedCredits(store), tally.credits]
    yield* sendAll(seed)
    const [logged, told] = [(yield* loggedCredits(store)) - loggedBefore, tally.credits - toldBefore]
    if (logged !== told) yield* findings.violation(`the log has ${logged} credits, and the responses ${told}`)
    if (!replica.isRunning()) return yield* Effect.fail(new Error(`the server ended: ${replica.said.slice(-5)}`))
    if ((yield* findings.violations).length > violationsBefore)
      yield* findings.note(`To reproduce: npm run torture -- --scenario cost --seed ${seed} --rounds 1`)
  })
})

export const cost: Scenario = {
  name: "cost",
  promise:
    "random and hostile requests, 1,000 a round, are all answered and charged correctly, and none uses more CPU time or bytes than its length allows",
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, seed, short }) {
    const findings = yield* Findings
    const server = yield* CostServer.start
    const costs = yield* Costs.make(server.replica.pid)
    const tally = CostUnits.makeTally()
    const round = yield* makeRound(server, costs, { tally, short })
    for (const it of seedsOf(Number(seed), rounds, short)) yield* round(it)
    yield* deliveryCosts.check(server, costs)
    yield* Audit.verified(server.store)
    for (const [kind, count] of tally.faults) yield* findings.note(`${count} times: ${kind}`)
    yield* costs.report
    yield* findings.note(`${costs.counts.requests} requests (${format(tally.statuses)}), ${tally.credits} credits`)
  })
}
