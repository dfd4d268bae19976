import { Clock, Effect, Exit, Scope } from "effect"
import { createQuarry } from "../client.ts"
import { ManualClock } from "./ManualClock.ts"
import { throughNetwork } from "./network.ts"
import { effectClock, makeService } from "./service.ts"
import type { Fault, TestQuarry, TestQuarryOptions } from "./TestQuarry.ts"

export type * from "./TestQuarry.ts"

const newYear = Date.UTC(2026, 0, 1)

/** The address at which a client finds the service of a test. */
const baseUrl = "http://quarry.test"

/** Starts a Quarry in this process, with one account, for a test of code that calls the API. */
export const createTestQuarry = async (options: TestQuarryOptions = {}): Promise<TestQuarry> => {
  const clock = new ManualClock(options.now ?? newYear)
  const scope = Scope.makeUnsafe()
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(
      effect.pipe(Effect.provideService(Scope.Scope, scope), Effect.provideService(Clock.Clock, effectClock(clock)))
    )
  const service = await run(makeService(options))
  const { apiKey } = service
  let faults: ReadonlyArray<Fault> = []
  const nextFault = () => {
    const [fault, ...rest] = faults
    faults = rest
    return fault
  }
  const exchange = throughNetwork(service.handler, nextFault)
  const fetch: TestQuarry["fetch"] = (url, init) => exchange(new Request(url, init))

  return {
    baseUrl,
    apiKey,
    fetch,
    clock,
    client: (given) => createQuarry({ baseUrl, apiKey, fetch, clock, ...given }),
    break: (...given) => {
      faults = given
    },
    account: async () => {
      const { balance, plan, quota = Number.POSITIVE_INFINITY, used } = await run(service.allowance)
      return { plan, quota, used, balance }
    },
    grant: (credits) => run(service.grant(credits)),
    charged: async () =>
      (await run(service.charged)).flatMap(({ cached, credits, id, outcome, page, request: { query } }) =>
        page !== undefined || outcome === "page_unreadable" ? [] : [{ id, query, outcome, credits, cached }]
      ),
    chargedPages: async () =>
      (await run(service.charged)).flatMap(({ cached, credits, id, outcome, page, request: { query } }) =>
        page !== undefined && outcome === "ok" ? [{ id, url: query, outcome, credits, cached }] : []
      ),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
