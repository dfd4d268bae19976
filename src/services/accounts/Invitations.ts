import { Context, Effect, Layer, Redacted } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import type { Role } from "../../domain/accounts/Role.ts"
import { htmlText, plainText } from "../../domain/emails/EmailBody.ts"
import type { InvalidRequest, NotFound, RateLimited } from "../../domain/errors.ts"
import { Emails } from "./Emails.ts"
import { type Invited, type Member, Members } from "./Members.ts"

const bodyOf = ({ email }: Account, { link, member }: Invited) => ({
  subject: `Join ${email} on Quarry`,
  paragraphs: [
    `An owner of the Quarry account ${email} invites you to it as ${member.role}. The link works once and expires in seven days:`
  ],
  facts: [],
  button: { text: "See the invitation", href: Redacted.value(link) },
  ifUnexpected: "If you do not know this account, ignore this email. Nothing happens unless you choose to join.",
  links: []
})

/** Invitations by email. */
export class Invitations extends Context.Service<
  Invitations,
  {
    readonly send: (account: Account, email: string, role: Role) => Effect.Effect<Member, InvalidRequest | RateLimited>
    readonly resend: (account: Account, memberId: string) => Effect.Effect<Member, NotFound | RateLimited>
  }
>()("quarry/services/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const members = yield* Members
      const emails = yield* Emails

      const email = <E>(account: Account, invite: Effect.Effect<Invited, E>) =>
        Effect.gen(function* () {
          const invited = yield* invite
          const body = bodyOf(account, invited)
          const { member } = invited
          yield* emails.send({ to: member.email, subject: body.subject, text: plainText(body), html: htmlText(body) })
          return member
        })

      return Invitations.of({
        send: (account, address, role) => email(account, members.invite(account, address, role)),
        resend: (account, memberId) => email(account, members.renew(account, memberId))
      })
    })
  )
}
