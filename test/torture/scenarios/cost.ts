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

const requestsOfRound = 1000
/** Of a round: each is sent in two to four sizes. */
const laddersOfRound = 180

/** Seeds that every run of the gate has, before the new ones. */
const fixedSeeds = 10

/** The seed of each round. A round needs nothing but its seed. */
const seedsOf = (first: number, rounds: number, short: boolean): ReadonlyArray<number> =>
  Array.from({ length: rounds }, (_, n) => (short && n < fixedSeeds ? n + 1 : first + n))

const sumOf = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort()
    .map(([name, count]) => `${name}: ${count}`)
    .join(", ")

/** The credits of all searches in the log. */
const loggedCredits = ({ sql }: Store.Store) =>
  Effect.map(
    sql<{ readonly credits: number }>`select coalesce(sum(credits), 0)::integer as credits from queries`,
    ([row]) => row?.credits ?? 0
  )

export const cost: Scenario = {
  name: "cost",
  promise: `rounds of ${requestsOfRound} random and hostile requests are all answered, charged as they were told, and cost no more CPU and bytes than their length allows`,
  rounds: 20,
  run: Effect.fnUntraced(function* ({ rounds, seed, short }) {
    const findings = yield* Findings
    const server = yield* CostServer.start
    const { call, cookie, document, replica, routes, store } = server
    const costs = yield* Costs.make(replica.pid)
    const ladders = CostUnits.laddersOf(server)
    const requests = requestsTo(routes, document)
    const tally = CostUnits.makeTally()

    const round = Effect.fnUntraced(function* (seed: number) {
      const violationsBefore = (yield* findings.violations).length
      const spare = yield* Wallet.makeSpare(call, cookie)
      const { cookie: disposable } = yield* Wallet.newPerson(call)
      const means: CostUnits.Means = { server, tally, spare, disposable }
      const [loggedBefore, toldBefore] = [yield* loggedCredits(store), tally.credits]
      const sentBefore = costs.counts.requests
      const start = (seed - 1) * laddersOfRound
      for (let n = start; n < start + laddersOfRound; n++) {
        const ladder = ladders[n % ladders.length]
        if (ladder !== undefined) yield* costs.climb(ladder.units(means))
      }
      const random = Math.max(0, requestsOfRound - (costs.counts.requests - sentBefore))
      for (const request of fc.sample(requests, { seed, numRuns: random }))
        yield* costs.measure(CostUnits.ofRequest(means, request))
      yield* costs.untilIdle
      const [logged, told] = [(yield* loggedCredits(store)) - loggedBefore, tally.credits - toldBefore]
      if (logged !== told) yield* findings.violation(`${logged} credits were charged, callers were told of ${told}`)
      yield* Wallet.removeOthers(call, cookie)
      if (!replica.isRunning()) return yield* Effect.fail(new Error(`the server has ended: ${replica.said.slice(-5)}`))
      if ((yield* findings.violations).length > violationsBefore)
        yield* findings.note(`again with: npm run torture -- --scenario cost --seed ${seed} --rounds 1`)
    })

    for (const it of seedsOf(Number(seed), rounds, short)) yield* round(it)
    yield* deliveryCosts.check(server, costs)
    yield* Audit.verified(store)
    for (const [kind, count] of tally.faults) yield* findings.note(`${count} times: ${kind}`)
    yield* costs.tell
    yield* findings.note(`${costs.counts.requests} requests (${sumOf(tally.statuses)}), ${tally.credits} credits`)
  })
}
