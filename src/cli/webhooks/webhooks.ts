import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { NotFound } from "../../domain/errors.ts"
import { Accounts } from "../../services/accounts/Accounts.ts"
import { queuesJson } from "../../services/operations/views/queuesJson.ts"
import { type EndpointQueue, EventBooks } from "../../services/webhooks/EventBooks.ts"
import { writesMore, writesNothing } from "../effects.ts"
import { accountId, optionalText } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { print, table, time } from "../Output.ts"
import { audited } from "../operations/audited.ts"

const flags = {
  account: accountId("account"),
  endpoint: optionalText("endpoint", "Only this webhook of the account: whk_…")
}

type Chosen = { readonly account: string; readonly endpoint: Option.Option<string> }

const stateOf = ({ endpoint, pausedAt }: EndpointQueue): string => {
  if (pausedAt !== undefined) return "paused"
  if (endpoint.disabledAt !== undefined) return "disabled"
  return endpoint.failingSince === undefined ? "works" : `failing since ${time(endpoint.failingSince)}`
}

const list = Command.make(
  "list",
  { account: flags.account },
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

/** Changes the chosen queues and records it. Fails if the account does not exist. */
const change = Effect.fnUntraced(function* <A>(
  { account, endpoint }: Chosen,
  command: string,
  run: (accountId: string, endpointId: string | undefined) => Effect.Effect<A, NotFound>,
  figures: (result: A) => Readonly<Record<string, number>> = () => ({})
) {
  const { id } = yield* Effect.flatMap(Accounts, (accounts) => accounts.byId(account))
  const endpointId = Option.getOrUndefined(endpoint)
  const result = yield* audited(run(id, endpointId), (result) => ({
    command,
    subject: id,
    arguments: { endpoint: endpointId, ...figures(result) }
  }))
  return { json: { account_id: id, endpoint_id: endpointId ?? null }, name: endpointId ?? id, result }
})

const pausing = (name: "pause" | "resume", paused: boolean, message: (queue: string) => string) =>
  Command.make(
    name,
    flags,
    Effect.fn(function* (input) {
      const books = yield* EventBooks
      const { json, name: queue } = yield* change(input, `webhooks ${name}`, (id, endpoint) =>
        books.pause(id, endpoint, paused)
      )
      yield* print({ ...json, paused }, [message(queue)])
    })
  )

const pause = pausing(
  "pause",
  true,
  (queue) => `Paused deliveries of ${queue}. Attempts in flight end within 20 seconds. To continue: webhooks resume.`
).pipe(Command.withDescription("Pause sending to an account's webhooks; pending deliveries are kept"))

const resume = pausing("resume", false, (queue) => `Resumed deliveries of ${queue}.`).pipe(
  Command.withDescription("Resume sending to an account's webhooks")
)

const drop = Command.make(
  "drop",
  flags,
  Effect.fn(function* (input) {
    const books = yield* EventBooks
    const { json, name, result } = yield* change(input, "webhooks drop", books.drop, (deliveries) => ({ deliveries }))
    yield* print({ ...json, dropped: result }, [`Dropped ${result} pending deliveries of ${name}.`])
  })
).pipe(Command.withDescription("Drop the pending deliveries of an account's webhooks; they count as failed"))

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
