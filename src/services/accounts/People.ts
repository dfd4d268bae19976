import { Context, type Effect, type Redacted } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import { OperatorError } from "../../domain/OperatorError.ts"

export interface SignInLink {
  /** As powerful as the person's password until it is used or expires. */
  readonly link: Redacted.Redacted
  /** Unix milliseconds. */
  readonly expiresAt: number
}

export class PersonError extends OperatorError("PersonError") {
  static taken(email: string): PersonError {
    return new PersonError({ message: `${email} is already used to sign in. Choose another address.` })
  }

  static withoutAddress(accountId: string): PersonError {
    return new PersonError({
      message: `Nobody can sign in to ${accountId} because it has no email address. Set one first.`
    })
  }
}

export class People extends Context.Service<
  People,
  {
    /** Also ends app tokens. Returns the number of sessions. */
    readonly endSessions: (accountId: string) => Effect.Effect<number>
    /** Invalidates old links. Replaces an unconfirmed sign-up. With a mail server, the next sign-in confirms it. */
    readonly setEmail: (accountId: string, email: string) => Effect.Effect<void, PersonError>
    /** The link sets a password and signs in. Creates the person if nobody has signed up for the account. */
    readonly makeSignInLink: (account: Account) => Effect.Effect<SignInLink, PersonError>
  }
>()("quarry/services/People") {}
