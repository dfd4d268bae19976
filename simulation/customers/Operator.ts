import { Effect } from "effect"
import { Accounts } from "../../src/services/accounts/Accounts.ts"
import { Ledger } from "../../src/services/credits/Ledger.ts"
import type { ModelAccount } from "../Account.ts"
import type { Auditor } from "../Auditor.ts"
import { enter, grant } from "../Model.ts"
import { quiet } from "../store/Store.ts"
import { dayMs, rushMs, rushStartMs, type World } from "../World.ts"
import type { Chance } from "../world/Chance.ts"
import type { Person } from "./Person.ts"

const meanPauseDays = 0.7

/** Records that an account's figures changed other than by searches. */
const touch = (account: ModelAccount, now: number): void => {
  account.version++
  account.changedAt = now
  enter(account.figures, now)
}

/** Operator commands, each with its name in the trace. */
const commandsOf = ({ agenda, events, store }: World, chance: Chance) => {
  const suspend = (me: Person) =>
    Effect.gen(function* () {
      const { account } = me
      const done = store.now(Effect.flatMap(Accounts, (accounts) => accounts.suspend(account.id)))
      if (done._tag === "Failure") return
      touch(account, agenda.now)
      account.isSuspended = true
      events.suspended(me)
      yield* Effect.sleep(chance.between(20, 1_800) * 1_000)
      yield* quiet(store)
      store.now(Effect.flatMap(Accounts, (accounts) => accounts.resume(account.id)))
      touch(account, agenda.now)
      account.isSuspended = false
      events.suspended(me)
    })

  const give = ({ account }: Person) =>
    Effect.sync(() => {
      const credits = chance.between(1, 40)
      const key = chance.hex(12)
      // The command is repeated with its idempotency key, as after a lost response. It grants once.
      for (let turn = 0; turn < 2; turn++) {
        const done = store.now(Effect.flatMap(Ledger, (ledger) => ledger.grant(account.id, credits, "a gift", key)))
        if (done._tag === "Failure") return
        if (turn === 0) grant(account.figures, credits)
      }
      touch(account, agenda.now)
    })

  const adjust = ({ account }: Person) =>
    Effect.sync(() => {
      touch(account, agenda.now)
      const credits = chance.between(-5, 5)
      const to = chance.pick(["quota", "balance"] as const)
      if (credits === 0) return
      const adjustment = { accountId: account.id, credits, to, reason: "simulated", by: "operator" }
      const done = store.now(Effect.flatMap(Ledger, (ledger) => ledger.adjust(adjustment)))
      if (done._tag === "Failure") return
      if (to === "balance") account.figures.balance += credits
      else account.figures.used -= credits
    })

  const changePlan = ({ account }: Person) =>
    Effect.sync(() => {
      touch(account, agenda.now)
      const { figures } = account
      const quota = chance.between(3, 40)
      const concurrency = chance.between(1, 3)
      const choice = { plan: "custom", quota, concurrency, cycleStart: figures.anchor } as const
      const done = store.now(Effect.flatMap(Accounts, (accounts) => accounts.setPlan(account.id, choice)))
      if (done._tag === "Failure") return
      // R31: used credits stay used.
      figures.concurrency = concurrency
      figures.agreed = quota
      figures.quota = Math.max(quota, figures.used)
    })

  return [
    ["suspends", suspend],
    ["grants credits to", give],
    ["adjusts the credits of", adjust],
    ["changes the plan of", changePlan]
  ] as const
}

/** An operator who runs commands on the machine of the store. */
export const operator = (world: World, auditor: Auditor, people: ReadonlyArray<Person>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const chance = world.chance("operator")
    const { agenda, store, trace } = world
    const custom = people.filter(({ kind }) => kind === "custom")
    if (custom.length === 0) return
    const commands = commandsOf(world, chance)

    while (agenda.now < world.endAt) {
      const at = agenda.now + chance.wait(meanPauseDays * dayMs)
      const rush = Math.floor(at / dayMs) * dayMs + rushStartMs + chance.between(0, rushMs)
      yield* Effect.sleep(Math.max(rush - agenda.now, 1_000))
      yield* quiet(store)
      const me = chance.pick(custom)
      const [what, command] = chance.pick(commands)
      // The operator sees that the store is down, and retries later.
      if (store.isBusy || !auditor.accounts.has(me.account.id)) continue
      // Books in motion are compared by bounds, but a correction must be exact.
      if (me.account.open.size > 0 || auditor.hasHold(me.account.id)) continue
      trace.add("operator", `${what} ${me.name}`)
      yield* Effect.forkChild(command(me))
    }
  })
