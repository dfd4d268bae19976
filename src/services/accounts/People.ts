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

  static notMember(accountId: string, email: string): PersonError {
    return new PersonError({
      message: `No member of ${accountId} signs in with ${email}. See them with: member list --account ${accountId}`
    })
  }

  static withoutAddress(accountId: string): PersonError {
    return new PersonError({
      message: `Nobody can sign in to ${accountId} because it has no email address. Set one first.`
    })
  }
}

/** Operator actions on the people of accounts. */
export class People extends Context.Service<
  People,
  {
    /** Ends all sessions and app tokens of the account's members, and returns the number of sessions. */
    readonly endSessions: (accountId: string) => Effect.Effect<number>
    /**
     * Changes the address that the member with the account's address signs in with, and invalidates links sent to the old
     * one. With a mail server, the new address is confirmed at the next sign-in. Replaces an unconfirmed sign-up with the
     * same address.
     */
    readonly setEmail: (account: Pick<Account, "email" | "id">, email: string) => Effect.Effect<void, PersonError>
    /** Removes all second factors and ends all sessions of the person. Undefined for an unknown address. */
    readonly resetFactors: (email: string) => Effect.Effect<{ readonly id: string; readonly email: string } | undefined>
    /** A new link for a person whose address is not confirmed. Undefined if there is none with this address. */
    readonly makeConfirmation: (
      email: string
    ) => Effect.Effect<{ readonly personId: string; readonly link: Redacted.Redacted } | undefined>
    /** The invitations of an address that were not accepted. */
    readonly invitationsOf: (
      email: string
    ) => Effect.Effect<ReadonlyArray<{ readonly accountId: string; readonly memberId: string }>>
    /**
     * Creates a link to set the password of the account's address and sign in. Creates the person if nobody has signed up
     * for the account. Fails if the account has members, but none with this address.
     */
    readonly makeSignInLink: (account: Account) => Effect.Effect<SignInLink, PersonError>
  }
>()("quarry/services/accounts/People") {}
