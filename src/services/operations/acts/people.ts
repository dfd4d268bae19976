import { Effect, Redacted } from "effect"
import { confirmationOf } from "../../../domain/emails/confirmation.ts"
import { type EmailBody, htmlText, plainText } from "../../../domain/emails/EmailBody.ts"
import { NotFound } from "../../../domain/errors.ts"
import type { FieldsOf } from "../../../domain/operations/acts.ts"
import { Emails } from "../../accounts/Emails.ts"
import { Invitations } from "../../accounts/Invitations.ts"
import { noSuchPerson } from "../../accounts/Operators.ts"
import { People } from "../../accounts/People.ts"
import { audited } from "../audited.ts"
import { Deployment } from "../Deployment.ts"
import { accountById } from "./accounts.ts"

const send = Effect.fnUntraced(function* (to: string, body: EmailBody) {
  const emails = yield* Emails
  yield* emails.send({ to, subject: body.subject, text: plainText(body), html: htmlText(body) })
  return emails.delivers
})

const removedFactors = (origin: string): EmailBody => ({
  subject: "Your second factors for Quarry were removed",
  paragraphs: [
    "The operator of this server removed your authenticator app, your recovery codes and your passkeys, and ended your sessions. Sign in and set up a new second factor:"
  ],
  facts: [],
  button: { text: "Open your account", href: `${origin}/dashboard/account` },
  ifUnexpected: "If you did not ask for this, change your password and tell the operator.",
  links: []
})

export const resetFactors = Effect.fnUntraced(function* ({ email, reason }: FieldsOf<"person reset-factors">) {
  const people = yield* People
  const reset = Effect.flatMap(people.resetFactors(email), (person) =>
    person === undefined ? Effect.fail(noSuchPerson(email)) : Effect.succeed(person)
  )
  const person = yield* audited(reset, ({ id }) => ({
    command: "person reset-factors",
    subject: id,
    arguments: { reason }
  }))
  const { origin } = yield* Deployment
  const emailed = yield* send(person.email, removedFactors(origin))
  return { person: person.id, emailed }
})

const nothingPending = (email: string) =>
  new NotFound({ message: `${email} has neither an unconfirmed address nor an open invitation.` })

/** Sends the email that the person waits for again. Links of earlier invitations stop working. */
export const resendEmail = Effect.fnUntraced(function* ({ email }: FieldsOf<"person resend-email">) {
  const people = yield* People
  const pending = yield* people.invitationsOf(email)
  const made = Effect.flatMap(people.makeConfirmation(email), (confirmation) =>
    confirmation === undefined && pending.length === 0
      ? Effect.fail(nothingPending(email))
      : Effect.succeed(confirmation)
  )
  const confirmation = yield* audited(made, (confirmation) => ({
    command: "person resend-email",
    subject: confirmation?.personId ?? pending[0]?.accountId,
    arguments: { confirmation: confirmation !== undefined, invitations: pending.length }
  }))
  if (confirmation !== undefined) {
    yield* send(email, { ...confirmationOf(Redacted.value(confirmation.link)), facts: [], links: [] })
  }
  const invitations = yield* Invitations
  for (const { accountId, memberId } of pending) {
    yield* invitations.resend(yield* accountById(accountId), memberId)
  }
  const { delivers } = yield* Emails
  return { confirmation: confirmation !== undefined, invitations: pending.length, emailed: delivers }
})
