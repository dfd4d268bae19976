import { Effect } from "effect"
import type { NotFound } from "../../../domain/errors.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { EventBooks } from "../../webhooks/EventBooks.ts"
import { audited } from "../audited.ts"
import { accountById } from "./accounts.ts"

type Queue = FieldsOf<"webhooks pause">

/** Changes the queues of an account or of one endpoint. */
const change = Effect.fnUntraced(function* <A>(
  { account, endpoint }: Queue,
  command: string,
  run: (accountId: string, endpointId: string | undefined) => Effect.Effect<A, NotFound>,
  figures: (result: A) => Readonly<Record<string, number>> = () => ({})
) {
  const { id } = yield* accountById(account)
  const result = yield* audited(run(id, endpoint), (result) => ({
    command,
    subject: id,
    arguments: { endpoint, ...figures(result) }
  }))
  return { json: { account_id: id, endpoint_id: endpoint ?? null }, result }
})

const pausing = (command: string, paused: boolean) =>
  Effect.fnUntraced(function* (queue: Queue) {
    const books = yield* EventBooks
    const { json } = yield* change(queue, command, (id, endpoint) => books.pause(id, endpoint, paused))
    return { ...json, paused }
  })

export const pause = pausing("webhooks pause", true)
export const resume = pausing("webhooks resume", false)

export const drop = Effect.fnUntraced(function* (queue: Queue) {
  const books = yield* EventBooks
  const { json, result } = yield* change(queue, "webhooks drop", books.drop, (deliveries) => ({ deliveries }))
  return { ...json, dropped: result }
})
