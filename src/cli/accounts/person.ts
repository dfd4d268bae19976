import { Effect } from "effect"
import { Command } from "effect/cli"
import { plural } from "../../domain/text.ts"
import * as people from "../../services/operations/acts/people.ts"
import { writesMore } from "../effects.ts"
import type { CommandLayers } from "../layers.ts"
import { CommandFailed, print } from "../Output.ts"
import { actCommand } from "../operations/actCommand.ts"
import { actFlags } from "../operations/actFlags.ts"

const resetFactors = actCommand(
  "reset-factors",
  "Remove the second factors of a person who lost all of them, and tell the person",
  {
    flags: actFlags["person reset-factors"],
    act: people.resetFactors,
    show: (result, { email }) =>
      print(result, [
        `Removed the authenticator app, the recovery codes and the passkeys of ${email}. All sessions ended.`
      ])
  }
)

const resendEmail = actCommand("resend-email", "Send the link to confirm an address, and open invitations, again", {
  flags: actFlags["person resend-email"],
  act: (input) =>
    Effect.catchTag(people.resendEmail(input), "rate_limited", ({ message }) =>
      Effect.fail(new CommandFailed({ message }))
    ),
  show: (sent, { email }) => {
    const confirmation = sent.confirmation ? ["the link to confirm the address"] : []
    const invitations = sent.invitations === 0 ? [] : [plural(sent.invitations, "invitation")]
    const what = [...confirmation, ...invitations].join(" and ")
    return print(sent, [
      sent.emailed ? `Sent ${what} to ${email}.` : `Without SMTP_URL, the log has ${what} for ${email}.`
    ])
  }
})

export const person = <E, R>({ mailing }: CommandLayers<E, R>) =>
  Command.make("person").pipe(
    Command.withDescription("Help a person to sign in"),
    Command.withSubcommands([
      resetFactors.pipe(writesMore, Command.provide(mailing)),
      resendEmail.pipe(writesMore, Command.provide(mailing))
    ])
  )
