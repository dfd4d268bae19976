import { Effect } from "effect"
import { Command } from "effect/cli"
import { htmlText, plainText } from "../../domain/emails/EmailBody.ts"
import { Emails } from "../../services/accounts/Emails.ts"
import { People } from "../../services/accounts/People.ts"
import { AppConfig } from "../../settings/Settings.ts"
import { writesMore } from "../effects.ts"
import { email, reason } from "../flags.ts"
import type { CommandLayers } from "../layers.ts"
import { NotFound, print } from "../Output.ts"
import { audited } from "../operations/audited.ts"

const bodyOf = (baseUrl: string) => ({
  subject: "Your second factors for Quarry were removed",
  paragraphs: [
    "The operator of this server removed your authenticator app, your recovery codes and your passkeys, and ended your sessions. Sign in and set up a new second factor:"
  ],
  facts: [],
  button: { text: "Open your account", href: `${baseUrl}/dashboard/account` },
  ifUnexpected: "If you did not ask for this, change your password and tell the operator.",
  links: []
})

const resetFactors = Command.make(
  "reset-factors",
  { email, reason: reason("audit log") },
  Effect.fn(function* (input) {
    const people = yield* People
    const unknown = new NotFound({ message: `Nobody signs in with ${input.email}.` })
    const reset = Effect.flatMap(people.resetFactors(input.email), (person) =>
      person === undefined ? Effect.fail(unknown) : Effect.succeed(person)
    )
    const person = yield* audited(reset, ({ id }) => ({
      command: "person reset-factors",
      subject: id,
      arguments: { reason: input.reason }
    }))
    const { baseUrl } = yield* AppConfig
    const emails = yield* Emails
    const body = bodyOf(baseUrl)
    yield* emails.send({ to: person.email, subject: body.subject, text: plainText(body), html: htmlText(body) })
    yield* print({ person: person.id, emailed: emails.delivers }, [
      `Removed the authenticator app, the recovery codes and the passkeys of ${person.email}. All sessions ended.`
    ])
  })
).pipe(Command.withDescription("Remove the second factors of a person who lost all of them, and tell the person"))

export const person = <E, R>({ mailing }: CommandLayers<E, R>) =>
  Command.make("person").pipe(
    Command.withDescription("Help a person to sign in"),
    Command.withSubcommands([resetFactors.pipe(writesMore, Command.provide(mailing))])
  )
