import { Context, type Effect, type Redacted } from "effect"
import type { Account } from "../../domain/accounts/Account.ts"
import type { Role } from "../../domain/accounts/Role.ts"
import { InvalidRequest, type LastOwner, NotFound, type RateLimited } from "../../domain/errors.ts"
import type { ApiKey } from "../../domain/keys/ApiKey.ts"
import type { BoundsChange } from "../../domain/keys/KeyBounds.ts"

export const maxMembers = 50

export const tooManyMembers = InvalidRequest.whole(
  `an account can have at most ${maxMembers} members and invitations; remove one first`
)

/** Does not name the ID, so that it does not reveal members of other accounts. */
export const noSuchMember = new NotFound({ message: "The account has no member or invitation with this ID." })

/** The same for an account that does not exist. */
export const noSuchAccount = new NotFound({ message: "You are not a member of an account with this ID." })

/** `bounds` limit the person's sessions, apps and keys in the account, all together. Only owners set them. */
export interface Member extends Pick<ApiKey, "bounds" | "spending"> {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly status: "active" | "invited"
}

/** Null removes a bound; an absent field keeps its value. */
export interface MemberChange extends Pick<BoundsChange, "budget" | "targets"> {
  readonly role?: Role | undefined
}

/** An account of a person. */
export interface MemberAccount {
  readonly accountId: string
  /** The account's address. */
  readonly email: string
  readonly memberId: string
  readonly role: Role
}

export interface PersonAccounts {
  /** The address with which the person signs in. */
  readonly email: string
  readonly accounts: ReadonlyArray<MemberAccount>
}

export interface Invited {
  readonly member: Member
  /** Proves the address: only the reader of its mail can open the link. */
  readonly link: Redacted.Redacted
}

export interface Invitation {
  readonly email: string
  readonly role: Role
  readonly account: { readonly id: string; readonly email: string }
}

/** The next page for a person who has joined. */
export type Joined =
  /** The person's own browser: its session uses the account now. */
  | { readonly _tag: "entered" }
  /** Nobody has confirmed the address by signing in yet, so its reader chooses a password. */
  | { readonly _tag: "newPassword"; readonly token: Redacted.Redacted }
  | { readonly _tag: "signIn" }
  | { readonly _tag: "signUpClosed" }

/** The people of accounts (R67). A change takes effect at once on every replica. */
export class Members extends Context.Service<
  Members,
  {
    /** Owners first, then by address. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<Member>>
    /** The link is valid for seven days. Fails if the address belongs to a member, or is invited already. */
    readonly invite: (
      account: Account,
      email: string,
      role: Role
    ) => Effect.Effect<Invited, InvalidRequest | RateLimited>
    /** The previous link stops working. */
    readonly renew: (account: Account, memberId: string) => Effect.Effect<Invited, NotFound | RateLimited>
    readonly change: (
      accountId: string,
      memberId: string,
      change: MemberChange
    ) => Effect.Effect<Member, NotFound | LastOwner>
    /**
     * Ends the person's sessions and app tokens in the account. The keys that the person created stay, within the
     * person's bounds.
     */
    readonly remove: (accountId: string, memberId: string) => Effect.Effect<Member, NotFound | LastOwner>
    readonly accountsOf: (personId: string) => Effect.Effect<PersonAccounts>
    /** The session uses the account from then on. */
    readonly enter: (sessionId: string, accountId: string) => Effect.Effect<void, NotFound>
    /** Undefined if the link was used or has expired. */
    readonly invitation: (token: Redacted.Redacted) => Effect.Effect<Invitation | undefined>
    /** Accepts an invitation, once. `sessionId` is the browser's. Undefined if the link was used or has expired. */
    readonly join: (
      token: Redacted.Redacted,
      session: { readonly id: string; readonly personId: string } | undefined
    ) => Effect.Effect<Joined | undefined>
  }
>()("quarry/services/Members") {}
