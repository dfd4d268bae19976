import { Effect } from "effect"
import { Command } from "effect/cli"
import { plural } from "../../domain/text.ts"
import * as people from "../../services/operations/acts/people.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print } from "../Output.ts"
import { actFlags } from "../operations/actFlags.ts"
import { asOperator } from "../operations/operator.ts"

const resetFactors = Command.make(
  "reset-factors",
  actFlags["person reset-factors"],
  Effect.fn(function* (input) {
    yield* print(yield* asOperator(people.resetFactors(input)), [
      `Removed the authenticator app, the recovery codes and the passkeys of ${input.email}. All sessions ended.`
    ])
  })
).pipe(Command.withDescription("Remove the second factors of a person who lost all of them, and tell the person"))

const resendEmail = Command.make(
  "resend-email",
  actFlags["person resend-email"],
  Effect.fn(function* (input) {
    const sent = yield* asOperator(people.resendEmail(input)).pipe(
      Effect.catchTag("rate_limited", ({ message }) => Effect.fail(new CommandFailed({ message })))
    )
    const confirmation = sent.confirmation ? ["the link to confirm the address"] : []
    const invitations = sent.invitations === 0 ? [] : [plural(sent.invitations, "invitation")]
    const what = [...confirmation, ...invitations].join(" and ")
    yield* print(sent, [
      sent.emailed ? `Sent ${what} to ${input.email}.` : `Without SMTP_URL, the log has ${what} for ${input.email}.`
    ])
  })
).pipe(Command.withDescription("Send the link to confirm an address, and open invitations, again"))

export const person = <E, R>({ mailing }: CommandLayers<E, R>) =>
  Command.make("person").pipe(
    Command.withDescription("Help a person to sign in"),
    Command.withSubcommands([
      resetFactors.pipe(writesMore, Command.provide(mailing)),
      resendEmail.pipe(writesMore, Command.provide(mailing))
    ])
  )
