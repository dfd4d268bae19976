import { Context, Effect, type Redacted } from "effect"
import type { ApiKey, KeyMode } from "../domain/ApiKey.ts"
import { InvalidRequest, NotFound, type Unauthorized } from "../domain/errors.ts"
import type { BoundsChange } from "../domain/KeyBounds.ts"
import type { KeyPrincipal } from "../domain/Principal.ts"

/** A new key with its secret, which cannot be read again later. */
export interface IssuedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

export interface NewKeyOptions {
  readonly label: string
  readonly mode: KeyMode
  /** None where it is absent. */
  readonly bounds?: BoundsChange | undefined
}

/** API keys. Secrets are stored only as keyed digests, so that a copy of the database reveals none. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Authenticates a secret. Unknown, revoked, expired and malformed secrets fail alike; `Credentials` judges if the
     * account is suspended, and if the key may be used from where the request comes. The result may be up to 10 seconds
     * old, so that a busy key costs no look-up for each request. A revocation and a change of bounds take effect within
     * that time, and an end that was known before (an expiry, a grace) at its moment.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<KeyPrincipal, Unauthorized>
    /** Fails with `InvalidRequest` when the account has `maxActiveKeys` already, and for an expiry that has passed. */
    readonly create: (accountId: string, options: NewKeyOptions) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /**
     * The account's active keys and its latest `maxRevokedListed` revoked ones, newest first. A key in the grace of its
     * rotation is active still.
     */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** A page of the keys of all accounts, newest first. `after` is the id of the last key of the page before. */
    readonly listAll: (page: {
      readonly after: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Revokes all active keys of an account, and answers them. */
    readonly revokeAll: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /**
     * Revokes a key, and with it the secrets before its rotations that have their grace. A key in its grace is revoked
     * alone. Fails for an unknown or revoked one.
     */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, NotFound>
    /**
     * Issues a key with the same label and mode in one transaction, and ends the old one after a grace, at once without
     * one (R51). Bounds, and what was spent of a budget, are those of the new key too. Fails for a key in its grace, and
     * where `maxGraces` secrets have one already.
     */
    readonly rotate: (id: string, graceSeconds?: number) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /**
     * Changes the bounds of a key, and of its secrets in grace (R50). What was spent of a budget in a period stays spent.
     * Fails for a key that is not active or has a grace, and for an expiry that has passed.
     */
    readonly bind: (id: string, change: BoundsChange) => Effect.Effect<ApiKey, NotFound | InvalidRequest>
    /** Revokes a key of this account. A key of another account fails as an unknown one does. */
    readonly revokeOwn: (accountId: string, id: string) => Effect.Effect<ApiKey, NotFound>
    /** Rotates a key of this account. */
    readonly rotateOwn: (
      accountId: string,
      id: string,
      graceSeconds?: number
    ) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /** Changes the bounds of a key of this account. */
    readonly bindOwn: (
      accountId: string,
      id: string,
      change: BoundsChange
    ) => Effect.Effect<ApiKey, NotFound | InvalidRequest>
  }
>()("quarry/services/KeyStore") {}

export const maxActiveKeys = 50
export const maxRevokedListed = 100

export const tooManyKeys = InvalidRequest.whole(
  `an account has at most ${maxActiveKeys} active API keys: revoke one that is no longer used`
)

/** Secrets of one key that may have a grace at once: without a limit, rotations would be a way around `maxActiveKeys`. */
export const maxGraces = 4

export const tooManyGraces = InvalidRequest.fromIssues([
  {
    field: "grace_seconds",
    message: `must be 0: ${maxGraces} older secrets of the key have their grace already; revoke one that is no longer used`
  }
])

const pastExpiry = InvalidRequest.fromIssues([
  { field: "expires_at", message: "must lie ahead: revoke the key to end it now" }
])

/** Fails for bounds of a key that would have expired at once. */
export const requireFuture = (bounds: BoundsChange | undefined, now: number): Effect.Effect<void, InvalidRequest> => {
  const expiresAt = bounds?.expiresAt ?? undefined
  return expiresAt !== undefined && expiresAt <= now ? Effect.fail(pastExpiry) : Effect.void
}

/** The shortest time between two updates of a key's last use. */
export const lastUsedStepMs = 60_000

export const noActiveKey = (id: string): NotFound => new NotFound({ message: `There is no active key ${id}.` })

/** The error without the id, so that it cannot show if another account has such a key. */
export const noSuchKey = new NotFound({ message: "There is no such active API key on this account." })
