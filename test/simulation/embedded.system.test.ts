import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sqlMutations } from "../../simulation/mutations/sqlMutations.ts"
import { simulate } from "../../simulation/simulate.ts"
import type { World } from "../../simulation/World.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"

const root = join(import.meta.dirname, "../..")
/** A loaded machine takes several times as long as the seconds of CPU that a world needs. */
const timeout = 300_000
const small = { replicas: 2, customers: 6, requests: 1_500, faults: true, store: "embedded" } as const

describe("the simulation over the embedded database", () => {
  it("I1, I2, I3: keeps its promises, and is the same for the same seed", { timeout }, async () => {
    const first = await simulate({ ...small, seed: 11, days: 4 })
    const again = await simulate({ ...small, seed: 11, days: 4 })
    assert.isUndefined(first.failure, first.tail.join("\n"))
    assert.isAbove(first.requests, 30)
    assert.strictEqual(again.digest, first.digest)
  })

  it("brings back what the database had before it lost its last moments", { timeout }, async () => {
    const balances: Array<number | undefined> = []
    const script = ({ store }: World) => {
      const [id = ""] = store.memory.accounts.keys()
      const look = () => balances.push(store.memory.accounts.get(id)?.balance)
      look()
      const restore = store.snapshot()
      store.now(Effect.flatMap(Ledger, (ledger) => ledger.grant(id, 5, "a gift", undefined)))
      look()
      restore()
      look()
    }
    await simulate({ ...small, seed: 12, days: 1, maxEvents: 1, script })
    assert.deepStrictEqual(balances, [0, 5, 0])
  })

  it("has mistakes in SQL to look for, each of which fits the sources once", () => {
    assert.isAtLeast(sqlMutations.length, 15)
    for (const { file, from, name, to } of sqlMutations) {
      const parts = readFileSync(join(root, file), "utf8").split(from)
      assert.lengthOf(parts, 2, `${name}: ${file}`)
      assert.notStrictEqual(from, to, name)
    }
  })
})
