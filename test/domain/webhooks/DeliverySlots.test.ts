import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { type DueDelivery, type Recipient, shareSlots } from "../../../src/domain/webhooks/DeliverySlots.ts"

const recipient = fc.tuple(fc.nat(12), fc.nat(3)).map(
  ([account, endpoint]): Recipient => ({
    accountId: `acc_${account}`,
    endpointId: endpoint === 0 ? undefined : `whk_${account}_${endpoint}`
  })
)

const situation = fc.record({
  recipients: fc.array(fc.tuple(recipient, fc.boolean()), { maxLength: 120 }),
  inFlight: fc.array(recipient, { maxLength: 40 }),
  limits: fc.record({ working: fc.nat(40), failing: fc.nat(20), perEndpoint: fc.integer({ min: 1, max: 5 }) })
})

const dueOf = (recipients: ReadonlyArray<readonly [Recipient, boolean]>): ReadonlyArray<DueDelivery> =>
  recipients.map(([it, isFailing], n) => ({
    ...it,
    id: `dlv_${n}`,
    isFailing: isFailing && it.endpointId !== undefined
  }))

const tally = (keys: ReadonlyArray<string>): ReadonlyMap<string, number> =>
  new Map(
    Map.groupBy(keys, (key) => key)
      .entries()
      .map(([key, all]) => [key, all.length])
  )

const accounts = (all: ReadonlyArray<Recipient>) => tally(all.map(({ accountId }) => accountId))
const receivers = (all: ReadonlyArray<Recipient>) => tally(all.map(({ endpointId }) => endpointId ?? "email"))

/** Checks what holds for every situation. */
const always = (
  check: (
    made: ReturnType<typeof shareSlots<DueDelivery>> & {
      readonly due: ReadonlyArray<DueDelivery>
      readonly inFlight: ReadonlyArray<Recipient>
      readonly limits: { readonly working: number; readonly failing: number; readonly perEndpoint: number }
    }
  ) => void
) =>
  fc.assert(
    fc.property(situation, ({ inFlight, limits, recipients }) => {
      const due = dueOf(recipients)
      check({ ...shareSlots(due, inFlight, limits), due, inFlight, limits })
    }),
    { numRuns: 500 }
  )

/** A queue of the account's at each of so many endpoints. */
const queueOf = (account: number, endpoints: number, length: number): ReadonlyArray<DueDelivery> =>
  Array.from({ length: endpoints * length }, (_, n) => ({
    id: `${account} ${n}`,
    accountId: `acc_${account}`,
    endpointId: `whk_${account}_${n % endpoints}`,
    isFailing: false
  }))

describe("shareSlots", () => {
  it("R53: chooses each delivery once at most, and never more than there are free slots or an endpoint may have", () => {
    always(({ chosen, due, inFlight, limits }) => {
      assert.strictEqual(new Set(chosen).size, chosen.length)
      for (const it of chosen) assert.include(due, it)
      assert.isAtMost(chosen.filter(({ isFailing }) => isFailing).length, limits.failing)
      assert.isAtMost(chosen.filter(({ isFailing }) => !isFailing).length, limits.working)
      const before = receivers(inFlight)
      for (const [endpoint, count] of receivers(chosen)) {
        assert.isAtMost(count + (before.get(endpoint) ?? 0), limits.perEndpoint)
      }
    })
  })

  it("R53: gives an account more than one attempt only within a quarter of the slots that were free", () => {
    always(({ chosen, inFlight, limits }) => {
      const before = accounts(inFlight)
      for (const [account, count] of accounts(chosen)) {
        const most = Math.max(limits.working, limits.failing) / 4
        if (count + (before.get(account) ?? 0) > 1) assert.isAtMost(count + (before.get(account) ?? 0), Math.ceil(most))
      }
    })
  })

  it("R53: an account without an attempt in flight waits only where no slot is left, or its receivers are busy", () => {
    always(({ chosen, due, inFlight, limits }) => {
      const served = accounts([...inFlight, ...chosen])
      const at = receivers([...inFlight, ...chosen])
      const free = {
        working: limits.working - chosen.filter(({ isFailing }) => !isFailing).length,
        failing: limits.failing - chosen.filter(({ isFailing }) => isFailing).length
      }
      for (const it of due) {
        if (served.has(it.accountId) || free[it.isFailing ? "failing" : "working"] === 0) continue
        assert.isAtLeast(at.get(it.endpointId ?? "email") ?? 0, limits.perEndpoint)
      }
    })
  })

  it("R53: twenty accounts with full queues leave a sixth of the slots, and a twenty-first gets one at once", () => {
    const queues = Array.from({ length: 20 }, (_, n) => queueOf(n, 10, 40)).flat()
    const limits = { working: 96, failing: 32, perEndpoint: 4 }
    const { capped, chosen } = shareSlots(queues, [], limits)
    assert.deepStrictEqual([chosen.length, capped], [80, 20])
    assert.deepStrictEqual([...new Set(accounts(chosen).values())], [4])
    const other = queueOf(20, 1, 1)
    const next = shareSlots([...queues, ...other], chosen, { ...limits, working: 16 })
    assert.deepStrictEqual(next.chosen, other)
  })

  it("R53: an account alone gets less than a quarter of the slots, spread over its endpoints", () => {
    const { chosen } = shareSlots(queueOf(0, 10, 40), [], { working: 96, failing: 32, perEndpoint: 4 })
    assert.strictEqual(chosen.length, 20)
    assert.deepStrictEqual([...new Set(receivers(chosen).values())], [2])
  })

  it("R53: among accounts with as many attempts, the first in the list goes first", () => {
    const due = [queueOf(3, 1, 2), queueOf(1, 1, 2), queueOf(2, 1, 2)].flat()
    const { chosen } = shareSlots(due, [{ accountId: "acc_3", endpointId: "whk_3_0" }], {
      working: 2,
      failing: 0,
      perEndpoint: 4
    })
    assert.deepStrictEqual(
      chosen.map(({ accountId }) => accountId),
      ["acc_1", "acc_2"]
    )
  })
})
