import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Ledger } from "../../services/credits/Ledger.ts"
import { accountId, between, limits, reason } from "../flags.ts"
import { print } from "../Output.ts"
import { audited } from "../operations/audited.ts"

const idempotencyKey = Flag.String("idempotency-key").pipe(
  Flag.withDescription("A unique name for this grant, such as an order number. Repeating it adds nothing"),
  Flag.withSchema(
    Schema.String.check(
      Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { message: "must have 1 to 255 visible ASCII characters" })
    )
  ),
  Flag.optional
)

export const grant = Command.make(
  "grant",
  {
    id: accountId("id"),
    credits: Flag.Int("credits").pipe(
      Flag.withDescription("Pack credits to add"),
      Flag.withSchema(between(1, limits.credits))
    ),
    reason: reason("ledger"),
    idempotencyKey
  },
  Effect.fn(function* (input) {
    const ledger = yield* Ledger
    const key = Option.getOrUndefined(input.idempotencyKey)
    const balance = yield* audited(ledger.grant(input.id, input.credits, input.reason, key), () => ({
      command: "account grant",
      subject: input.id,
      arguments: { credits: input.credits, reason: input.reason, idempotency_key: key }
    }))
    yield* print({ balance }, [`Pack balance: ${balance}`])
  })
).pipe(Command.withDescription("Add pack credits to an account"))
