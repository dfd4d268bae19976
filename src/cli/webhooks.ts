import { Effect, type Layer, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { NotFound } from "../domain/errors.ts"
import { Accounts } from "../services/Accounts.ts"
import type { Audit } from "../services/Audit.ts"
import { type EndpointQueue, EventBooks } from "../services/EventBooks.ts"
import type { AppConfig } from "../settings/Settings.ts"
import { audited } from "./audited.ts"
import { accountId } from "./flags.ts"
import { print, table, time } from "./Output.ts"

/** The commands that show, stop and empty the queues of an account's webhooks. */

const flags = {
  account: accountId("account"),
  endpoint: Flag.String("endpoint").pipe(Flag.withDescription("Only this webhook of the account: whk_…"), Flag.optional)
}

type Chosen = { readonly account: string; readonly endpoint: Option.Option<string> }

const queueJson = ({ endpoint, failed, pausedAt, queued }: EndpointQueue) => ({
  id: endpoint.id,
  url: endpoint.url,
  created_at: time(endpoint.createdAt),
  queued,
  failed,
  failing_since: time(endpoint.failingSince),
  disabled_at: time(endpoint.disabledAt),
  disabled_reason: endpoint.disabledFor ?? null,
  paused_at: time(pausedAt)
})

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
    const { pausedAt, webhooks } = yield* Effect.flatMap(EventBooks, (books) => books.queues(account.id))
    const rows = webhooks.map((it) => [
      it.endpoint.id,
      String(it.queued),
      String(it.failed),
      stateOf(it),
      it.endpoint.url
    ])
    yield* print({ account_id: account.id, paused_at: time(pausedAt), webhooks: webhooks.map(queueJson) }, [
      ...(pausedAt === undefined ? [] : [`All webhooks of ${account.id} have been paused since ${time(pausedAt)}.`]),
      ...table([["WEBHOOK", "QUEUED", "FAILED", "STATE", "ADDRESS"], ...rows])
    ])
  })
).pipe(Command.withDescription("List an account's webhooks, with the deliveries that wait and those that failed"))

/** Runs a change of the chosen queues and records it. An account that does not exist is an error, not an empty result. */
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

const pause = Command.make(
  "pause",
  flags,
  Effect.fn(function* (input) {
    const books = yield* EventBooks
    const { json, name } = yield* change(input, "webhooks pause", (id, endpoint) => books.pause(id, endpoint, true))
    yield* print({ ...json, paused: true }, [
      `Paused deliveries of ${name}. They wait until: webhooks resume. Attempts in flight end within 20 seconds.`
    ])
  })
).pipe(Command.withDescription("Stop sending to an account's webhooks; what waits is kept"))

const resume = Command.make(
  "resume",
  flags,
  Effect.fn(function* (input) {
    const books = yield* EventBooks
    const { json, name } = yield* change(input, "webhooks resume", (id, endpoint) => books.pause(id, endpoint, false))
    yield* print({ ...json, paused: false }, [`Deliveries of ${name} go on.`])
  })
).pipe(Command.withDescription("Send to an account's webhooks again after a pause"))

const drop = Command.make(
  "drop",
  flags,
  Effect.fn(function* (input) {
    const books = yield* EventBooks
    const { json, name, result } = yield* change(input, "webhooks drop", books.drop, (deliveries) => ({ deliveries }))
    yield* print({ ...json, dropped: result }, [`Dropped ${result} deliveries of ${name} that were waiting.`])
  })
).pipe(Command.withDescription("Drop the deliveries that wait for an account's webhooks; they count as failed"))

export const webhooks = <E, R>(storage: Layer.Layer<Accounts | AppConfig | Audit | EventBooks, E, R>) =>
  Command.make("webhooks").pipe(
    Command.withDescription("Webhooks of accounts: what waits for them, and how to stop it"),
    Command.withSubcommands([
      list.pipe(Command.provide(storage)),
      pause.pipe(Command.provide(storage)),
      resume.pipe(Command.provide(storage)),
      drop.pipe(Command.provide(storage))
    ])
  )
