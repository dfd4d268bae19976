import { Effect } from "effect"
import fc from "fast-check"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import * as CostServer from "../support/costs/CostServer.ts"
import * as Costs from "../support/costs/Costs.ts"
import * as CostUnits from "../support/costs/CostUnits.ts"
import * as deliveryCosts from "../support/costs/deliveryCosts.ts"
import { Findings } from "../support/Findings.ts"
import { requestsTo } from "../support/hostile/RandomRequests.ts"
import type * as Store from "../support/Store.ts"
import * as Wallet from "../support/Wallet.ts"

/** Requests per round: hostile ones, each in one to four sizes, and random ones. At least 1,000 in total. */
const laddersOfRound = 180
const randomOfRound = 580

/** Rounds of a short run with the seeds 1, 2, …, in which the known faults show. The others have new seeds. */
const fixedRounds = 3

/**
 * Number of servers, each with its own database. Each gets one request at a time, so a long run uses several. CPU time
 * is measured per server process.
 */
const servers = (short: boolean): number => (short ? 1 : 3)

/** Rounds between progress reports of a long run. */
const reportEvery = 50

const seedsOf = (first: number, rounds: number, short: boolean): ReadonlyArray<number> =>
  Array.from({ length: rounds }, (_, n) => (short && n < fixedRounds ? n + 1 : first + n))

/** Sum of all credits in the query log. */
const loggedCredits = ({ sql }: Store.Store) =>
  Effect.map(
    sql<{ readonly credits: number }>`select coalesce(sum(credits), 0)::integer as credits from queries`,
    ([row]) => row?.credits ?? 0
  )

const sum = (all: ReadonlyArray<ReadonlyMap<string, number>>): ReadonlyMap<string, number> => {
  const total = new Map<string, number>()
  for (const [name, count] of all.flatMap((counts) => [...counts])) total.set(name, (total.get(name) ?? 0) + count)
  return total
}

const format = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort()
    .map(([name, count]) => `${name}: ${count}`)
    .join(", ")

/** Returns a function that sends the requests of one seed. */
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
    const seeds = seedsOf(Number(seed), rounds, short)
    let done = 0
    /** Sends every `servers`-th seed to one server. */
    const lane = Effect.fnUntraced(function* (first: number) {
      const server = yield* CostServer.start
      const costs = yield* Costs.make(server.replica.pid)
      const tally = CostUnits.makeTally()
      const round = yield* makeRound(server, costs, { tally, short })
      for (let n = first; n < seeds.length; n += servers(short)) {
        yield* round(seeds[n] ?? 0)
        if (++done % reportEvery === 0) yield* findings.note(`${done} of ${rounds} rounds`)
      }
      if (first === 0) yield* deliveryCosts.check(server, costs)
      yield* Audit.verified(server.store)
      return { costs, tally }
    })
    const lanes = yield* Effect.all(
      Array.from({ length: servers(short) }, (_, n) => lane(n)),
      { concurrency: "unbounded" }
    )
    const requests = yield* Costs.report(lanes.map(({ costs }) => costs))
    const statuses = sum(lanes.map(({ tally }) => tally.statuses))
    for (const [kind, count] of sum(lanes.map(({ tally }) => tally.faults)))
      yield* findings.note(`${count} times: ${kind}`)
    const credits = lanes.reduce((total, { tally }) => total + tally.credits, 0)
    yield* findings.note(`${requests} requests (${format(statuses)}), ${credits} credits`)
  })
}
