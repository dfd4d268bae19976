import { Effect } from "effect"
import { Command } from "effect/cli"
import type { FieldsOf } from "../../domain/operations/acts.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import * as acts from "../../services/operations/acts/webhooks.ts"
import { queuesJson } from "../../services/operations/views/queuesJson.ts"
import { type EndpointQueue, EventBooks } from "../../services/webhooks/EventBooks.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { accountId } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags } from "../operations/actFlags.ts"

const stateOf = ({ endpoint, pausedAt }: EndpointQueue): string => {
  if (pausedAt !== undefined) return "paused"
  if (endpoint.disabledAt !== undefined) return "disabled"
  return endpoint.failingSince === undefined ? "works" : `failing since ${time(endpoint.failingSince)}`
}

const list = Command.make(
  "list",
  { account: accountId("account") },
  Effect.fn(function* (input) {
    const account = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(input.account))
    const queues = yield* Effect.flatMap(EventBooks, (books) => books.queues(account.id))
    const { pausedAt, webhooks } = queues
    const rows = webhooks.map((webhook) => [
      webhook.endpoint.id,
      String(webhook.queued),
      String(webhook.failed),
      stateOf(webhook),
      webhook.endpoint.url
    ])
    yield* print({ account_id: account.id, ...queuesJson(queues) }, [
      ...(pausedAt === undefined ? [] : [`All webhooks of ${account.id} have been paused since ${time(pausedAt)}.`]),
      ...table([["WEBHOOK", "QUEUED", "FAILED", "STATE", "ADDRESS"], ...rows])
    ])
  })
).pipe(Command.withDescription("List an account's webhooks with their pending and failed deliveries"))

const queueOf = ({ account, endpoint }: FieldsOf<"webhooks pause">): string => endpoint ?? account

const pause = actCommand("pause", "Pause sending to an account's webhooks; pending deliveries are kept", {
  flags: actFlags["webhooks pause"],
  act: acts.pause,
  show: (result, input) =>
    print(result, [
      `Paused deliveries of ${queueOf(input)}. Attempts in flight end within 20 seconds. To continue: webhooks resume.`
    ])
})

const resume = actCommand("resume", "Resume sending to an account's webhooks", {
  flags: actFlags["webhooks resume"],
  act: acts.resume,
  show: (result, input) => print(result, [`Resumed deliveries of ${queueOf(input)}.`])
})

const drop = actCommand("drop", "Drop the pending deliveries of an account's webhooks; they count as failed", {
  flags: actFlags["webhooks drop"],
  act: acts.drop,
  show: (result, input) => print(result, [`Dropped ${result.dropped} pending deliveries of ${queueOf(input)}.`])
})

export const webhooks = <E, R>({ reading, storage }: CommandLayers<E, R>) =>
  Command.make("webhooks").pipe(
    Command.withDescription("Manage the webhook deliveries of an account"),
    Command.withSubcommands([
      list.pipe(writesNothing, Command.provide(reading)),
      pause.pipe(writesMore, Command.provide(storage)),
      resume.pipe(writesMore, Command.provide(storage)),
      drop.pipe(writesMore, Command.provide(storage))
    ])
  )
