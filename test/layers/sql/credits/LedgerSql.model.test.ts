import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Accounts } from "../../../../src/services/accounts/Accounts.ts"
import type { QueryLog } from "../../../../src/services/charging/QueryLog.ts"
import { type Hold, Ledger } from "../../../../src/services/credits/Ledger.ts"
import type { Ids } from "../../../../src/services/Ids.ts"
import { discrepanciesOf, makeAccount, makeRecords } from "../../../support/api/searches.ts"
import { allowanceOf } from "../../../support/stores/allowances.ts"
import { Backdoor } from "../../../support/stores/Backdoor.ts"
import * as EmbeddedDatabase from "../../../support/stores/EmbeddedDatabase.ts"
import * as MemoryStorage from "../../../support/stores/MemoryStorage.ts"
import * as SqlStorage from "../../../support/stores/SqlStorage.ts"
import { wholeStackRuns } from "../../../support/wholeStackRuns.ts"

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))

const Step = Schema.Union([
  Schema.TaggedStruct("reserve", { credits: small }),
  Schema.TaggedStruct("settle", { which: small, charge: small }),
  Schema.TaggedStruct("expire", {}),
  Schema.TaggedStruct("grant", { credits: small }),
  Schema.TaggedStruct("setQuota", { quota: small }),
  Schema.TaggedStruct("wait", { days: small })
])

const start = Date.parse("2026-01-31T12:00:00Z")
const dayMs = 86_400_000

/** What an account's owner sees of the steps, one observation for each. */
const observe = Effect.fnUntraced(function* (
  steps: ReadonlyArray<typeof Step.Type>
): Effect.fn.Return<ReadonlyArray<unknown>, unknown, Accounts | Backdoor | Ids | Ledger | QueryLog> {
  yield* TestClock.setTime(start)
  const accounts = yield* Accounts
  const backdoor = yield* Backdoor
  const ledger = yield* Ledger
  const account = yield* makeAccount({ plan: "custom", quota: 12, cycleStart: start }, 5)
  const holds: Array<Hold> = []
  const seen: Array<unknown> = []

  const take = Effect.fnUntraced(function* (step: typeof Step.Type) {
    switch (step._tag) {
      case "reserve": {
        const taken = yield* Effect.result(ledger.reserve(account, step.credits + 1))
        if (Result.isFailure(taken)) return { ...taken.failure }
        holds.push(taken.success)
        const { before, fromBalance, fromQuota } = taken.success
        return { before, fromBalance, fromQuota }
      }
      case "settle": {
        const hold = holds[step.which % Math.max(holds.length, 1)]
        if (hold === undefined) return "nothing held"
        const charge = Math.min(step.charge, hold.fromQuota + hold.fromBalance)
        const settled = yield* Effect.result(ledger.settle(hold, yield* makeRecords(account, charge)))
        return Result.isSuccess(settled) ? settled.success : settled.failure._tag
      }
      case "expire":
        yield* backdoor.expireHolds(account.id)
        return yield* ledger.sweep
      case "grant":
        return yield* ledger.grant(account.id, step.credits + 1, "a step")
      case "setQuota":
        return (yield* accounts.setPlan(account.id, { plan: "custom", quota: step.quota, cycleStart: start })).quota
      case "wait":
        return yield* TestClock.adjust(step.days * dayMs)
    }
  })

  for (const step of steps) seen.push([step._tag, yield* take(step), yield* allowanceOf(account)])
  yield* backdoor.expireHolds(account.id)
  yield* ledger.sweep
  seen.push(yield* allowanceOf(account), yield* discrepanciesOf(account))
  return seen
})

type Storage = Accounts | Backdoor | Ids | Ledger | QueryLog

/** The same services, once by the domain's arithmetic and once in a database. */
class Both extends Context.Service<
  Both,
  { readonly memory: Context.Context<Storage>; readonly database: Context.Context<Storage> }
>()("quarry/test/layers/sql/Both") {
  static readonly layer = Layer.effect(
    Both,
    Effect.all({
      memory: Layer.build(MemoryStorage.layer),
      database: Layer.build(SqlStorage.layer(EmbeddedDatabase.layer))
    })
  )
}

layer(Both.layer)("LedgerSql against LedgerMemory", (it) => {
  it.effect.prop(
    "I1, I2, R30, R31: any sequence of operations comes to the same in both, and the books agree",
    { steps: Schema.Array(Step).check(Schema.isMaxLength(40)) },
    Effect.fnUntraced(function* ({ steps }) {
      const { database, memory } = yield* Both
      const expected = yield* Effect.provide(observe(steps), memory)
      assert.deepStrictEqual(yield* Effect.provide(observe(steps), database), expected)
      assert.deepStrictEqual(expected.at(-1), [])
    }),
    { timeout: 600_000, arbitrary: { runs: wholeStackRuns } }
  )
})
