import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { CheckRows, columnsOf, rowOf, rowsOf } from "../../../src/layers/sql/Rows.ts"

const Row = Schema.Struct({ id: Schema.String, used: Schema.NullOr(Schema.BigInt), at: Schema.Date })
const row = { id: "acc_1", used: null, at: new Date(0) }
const checked = <A, E>(effect: Effect.Effect<A, E>) => Effect.provideService(effect, CheckRows, true)

describe("Rows", () => {
  it.effect("rows that agree with their schema are answered as they are", () =>
    Effect.gen(function* () {
      const rows = [row, { ...row, used: 1n }]
      assert.deepStrictEqual(yield* checked(rowsOf(Row)(Effect.succeed(rows))), rows)
      assert.deepStrictEqual(yield* checked(rowOf(Row)(Effect.succeed(rows))), row)
      assert.isUndefined(yield* checked(rowOf(Row)(Effect.succeed([]))))
    })
  )

  for (const [what, wrong] of [
    ["a missing column", { id: row.id, used: null }],
    ["an unknown column", { ...row, plan: "trial" }],
    ["a null", { ...row, id: null }],
    ["another type", { ...row, used: 1 }]
  ] as const) {
    it.effect(`${what} in any row of a statement is a defect where rows are checked`, () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(checked(rowsOf(Row)(Effect.succeed([row, wrong]))))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      })
    )
  }

  it("a select list has the columns of the schema, of an alias when there is one", () => {
    assert.strictEqual(columnsOf(Row), "id, used, at")
    assert.strictEqual(columnsOf(Row, "a"), "a.id, a.used, a.at")
  })
})
