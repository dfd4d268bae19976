import { Effect, type Layer, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { type Discrepancy, Ledger } from "../services/Ledger.ts"
import { CommandFailed, print, table } from "./Output.ts"

const toJson = ({ accountId, expected, found, what }: Discrepancy) => ({ account_id: accountId, what, expected, found })

const toTable = (discrepancies: ReadonlyArray<Discrepancy>) =>
  table([
    ["ACCOUNT", "WHAT", "EXPECTED", "FOUND"],
    ...discrepancies.map((it) => [it.accountId, it.what, `${it.expected}`, `${it.found}`])
  ])

const verify = Command.make(
  "verify",
  {},
  Effect.fn(function* () {
    const discrepancies = yield* Effect.flatMap(Ledger, (ledger) => ledger.verify)
    const isSound = discrepancies.length === 0
    yield* print(
      { ok: isSound, discrepancies: discrepancies.map(toJson) },
      isSound ? ["Every account agrees with its records."] : toTable(discrepancies)
    )
    if (!isSound) {
      return yield* new CommandFailed({
        message: `The ledger does not add up: ${discrepancies.length} figures disagree.`
      })
    }
  })
).pipe(Command.withDescription("Recompute every account from its records"))

/** Texts and figures beyond these are mistakes. */
const limits = { credits: 1_000_000_000, textCharacters: 500 }

const text = Schema.String.check(Schema.isBetweenLength(1, limits.textCharacters))

const correctionFlags = {
  reason: Flag.String("reason").pipe(Flag.withDescription("Why, for the ledger"), Flag.withSchema(text)),
  by: Flag.String("by").pipe(Flag.withDescription("Who is responsible, for the ledger"), Flag.withSchema(text))
}

const adjust = Command.make(
  "adjust",
  {
    accountId: Flag.String("account").pipe(Flag.withDescription("The account's id: acc_…")),
    credits: Flag.Int("credits").pipe(
      Flag.withDescription("Credits to give; below 0, to take"),
      Flag.withSchema(
        Schema.Int.check(
          Schema.makeFilter((credits) => credits !== 0 && Math.abs(credits) <= limits.credits, {
            message: `must be a whole number up to ${limits.credits} in size, and not 0`
          })
        )
      )
    ),
    to: Flag.Literals("to", ["balance", "quota"]).pipe(
      Flag.withDescription("The pack balance, or what is left of the present period's quota"),
      Flag.withDefault("balance")
    ),
    ...correctionFlags
  },
  Effect.fn(function* (adjustment) {
    const { balance, quota, used } = yield* Effect.flatMap(Ledger, (ledger) => ledger.adjust(adjustment))
    yield* print(
      { account_id: adjustment.accountId, quota: quota ?? null, used, balance },
      table([
        ["Account", adjustment.accountId],
        ["Used", `${used}`],
        ["Pack balance", `${balance}`]
      ])
    )
  })
).pipe(Command.withDescription("Correct an account's credits by an entry with a reason"))

const repair = Command.make(
  "repair",
  {
    accountId: Flag.String("account").pipe(Flag.withDescription("What ledger verify shows under ACCOUNT")),
    keep: Flag.Literals("keep", ["entries", "figures"]).pipe(
      Flag.withDescription("What is right: the sum of the entries, or the used credits and the balance as they are")
    ),
    ...correctionFlags
  },
  Effect.fn(function* (input) {
    const repaired = yield* Effect.flatMap(Ledger, (ledger) => ledger.repair(input))
    yield* print(
      { account_id: input.accountId, repaired: repaired.map(toJson) },
      repaired.length === 0 ? [`${input.accountId} agrees with its records: nothing was repaired.`] : toTable(repaired)
    )
  })
).pipe(Command.withDescription("Make an account agree with its records again, by entries with a reason"))

export const ledger = <E, R>(storage: Layer.Layer<Ledger, E, R>) =>
  Command.make("ledger").pipe(
    Command.withDescription("The record of credits"),
    Command.withSubcommands([
      verify.pipe(Command.provide(storage)),
      adjust.pipe(Command.provide(storage)),
      repair.pipe(Command.provide(storage))
    ])
  )
