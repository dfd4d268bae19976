import { Effect } from "effect"
import type { Scenario } from "../Scenario.ts"
import * as Audit from "../support/Audit.ts"
import type { Answer } from "../support/Client.ts"
import { Findings } from "../support/Findings.ts"
import { uniqueQuery } from "../support/Load.ts"
import * as Stage from "../support/Stage.ts"
import * as Store from "../support/Store.ts"

const requests = 1000
const processes = 4

/** Credits of the accounts, and the number of requests that must therefore succeed. */
const cases = [
  { quota: 1, packs: undefined, served: 1 },
  { quota: 600, packs: 300, served: 900 }
]

const isServed = ({ status }: Answer) => status === 200 || status === 502 || status === 504

export const contention: Scenario = {
  name: "contention",
  promise: `${requests} parallel requests over ${processes} processes spend exactly what the account has`,
  rounds: 100,
  run: Effect.fnUntraced(function* ({ rounds }) {
    const findings = yield* Findings
    const { client, replicas, store } = yield* Stage.make({ replicas: processes })
    const startedAt = performance.now()

    const round = Effect.fnUntraced(function* (expected: (typeof cases)[number]) {
      const customer = yield* Store.customer(store, {
        quota: expected.quota,
        ...(expected.packs === undefined ? {} : { packs: expected.packs })
      })
      const answers = yield* Effect.forEach(
        Array.from({ length: requests }),
        (_, index) =>
          Effect.flatMap(uniqueQuery, (query) =>
            client.search(replicas[index % processes]?.url ?? "", customer.secret, query.replace("hang", "fail"))
          ),
        { concurrency: "unbounded" }
      )
      const served = answers.filter(isServed).length
      const refused = answers.filter(({ status }) => status === 402).length
      if (served !== expected.served || refused !== requests - served) {
        yield* findings.violation(`${expected.served} credits: ${Audit.tally(answers)}`)
      }
      const { balance, used } = yield* store.ledger.allowance(yield* store.accounts.byId(customer.accountId))
      if (used !== expected.quota || balance !== 0) {
        yield* findings.violation(`${expected.served} credits: ${used} used, ${balance} in packs at the end`)
      }
      return { customer, answers }
    })

    for (let n = 0; n < rounds; n++) {
      const done = yield* Effect.forEach(cases, round)
      if (n % 10 === 9 || n === rounds - 1)
        yield* findings.note(`round ${n + 1}: ${Audit.tally(done.flatMap((it) => it.answers))}`)
      yield* Audit.audit(
        store,
        done.map((it) => it.customer),
        done.flatMap((it) => it.answers)
      )
    }
    const seconds = (performance.now() - startedAt) / 1000
    yield* findings.note(`${Math.round((rounds * cases.length * requests) / seconds)} requests a second`)
  })
}
