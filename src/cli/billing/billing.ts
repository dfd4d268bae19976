import { Effect } from "effect"
import { Command } from "effect/cli"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { BillingBooks } from "../../services/billing/BillingBooks.ts"
import { type Drift, Reconciler } from "../../services/billing/Reconciler.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { accountId, optionalText, reason } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print, table } from "../Output.ts"
import { audited, recordFirst } from "../operations/audited.ts"
import { check } from "./check.ts"
import { show } from "./show.ts"

const driftJson = ({ accountId, kind, objectId }: Drift) => ({
  kind,
  account_id: accountId ?? null,
  object_id: objectId
})

const reconcile = Command.make(
  "reconcile",
  {
    account: optionalText("account", "Only this account: acc_… (default: everything at the provider)")
  },
  Effect.fn(function* ({ account }) {
    const reconciler = yield* Reconciler
    // Each object is updated in its own transaction, so a failure does not undo earlier updates.
    yield* recordFirst({ command: "billing reconcile", subject: account })
    const drifts = yield* (account === undefined ? reconciler.sweep("changed") : reconciler.bringAccount(account)).pipe(
      Effect.catchTag("ProviderUnavailable", ({ reason }) =>
        Effect.fail(
          new CommandFailed({
            message: `The payment provider did not answer: ${reason}. Nothing is lost. Run the command again later.`
          })
        )
      )
    )
    yield* print(
      { repaired: drifts.map(driftJson) },
      drifts.length === 0
        ? ["The books agree with the payment provider. Nothing was missed."]
        : table([
            ["MISSED", "ACCOUNT", "OBJECT"],
            ...drifts.map((drift) => [drift.kind, drift.accountId ?? "", drift.objectId])
          ])
    )
  })
).pipe(Command.withDescription("Update the books from the payment provider now"))

const unblock = Command.make(
  "unblock",
  { account: accountId("account"), reason: reason("audit log") },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const books = yield* BillingBooks
    const wasBlocked = yield* audited(books.unblock(account.id), () => ({
      command: "billing unblock",
      subject: account.id,
      arguments: { reason: input.reason }
    }))
    yield* print({ account_id: account.id, unblocked: wasBlocked }, [
      wasBlocked ? `${account.id} can buy again.` : `${account.id} was not blocked.`
    ])
  })
).pipe(Command.withDescription("Allow purchases again after a lost dispute"))

export const billing = <E, R>({ paymentProvider, reading, reconciler, storage }: CommandLayers<E, R>) =>
  Command.make("billing").pipe(
    Command.withDescription("Check and reconcile payments"),
    Command.withSubcommands([
      check.pipe(writesNothing, Command.provide(paymentProvider)),
      show.pipe(writesNothing, Command.provide(reading)),
      reconcile.pipe(writesMore, Command.provide(reconciler)),
      unblock.pipe(writesMore, Command.provide(storage))
    ])
  )
