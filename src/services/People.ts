import { Context, type Effect, type Redacted } from "effect"
import type { Account } from "../domain/Account.ts"
import { OperatorError } from "../domain/OperatorError.ts"

/** A link that lets a person choose a password, once. */
export interface SignInLink {
  /** As good as the person's password until it is used or over. */
  readonly link: Redacted.Redacted
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** The person behind an account cannot be changed as asked. The message says why and what to do. */
export class PersonError extends OperatorError("PersonError") {
  static taken(email: string): PersonError {
    return new PersonError({ message: `Somebody signs in with ${email} already: give another address.` })
  }

  static withoutAddress(accountId: string): PersonError {
    return new PersonError({ message: `Nobody can sign in to ${accountId}, because it has no email address.` })
  }
}

/** The people behind accounts, as an operator acts on them. */
export class People extends Context.Service<
  People,
  {
    /**
     * Ends every session of the account's person, and the tokens of their apps. The result is the number of sessions.
     */
    readonly endSessions: (accountId: string) => Effect.Effect<number>
    /**
     * Changes the address with which the person signs in. Links that were sent to the old one are over. Where emails are
     * delivered, the new address is confirmed at the next sign-in. A sign-up with the address that nobody has confirmed
     * gives way.
     */
    readonly setEmail: (accountId: string, email: string) => Effect.Effect<void, PersonError>
    /**
     * Makes a link with which the reader chooses a password and then signs in to the account. Makes the person too, for
     * an account whose person has not signed up.
     */
    readonly makeSignInLink: (account: Account) => Effect.Effect<SignInLink, PersonError>
  }
>()("quarry/services/People") {}
