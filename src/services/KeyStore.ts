import { Context, type Effect, type Redacted } from "effect"
import type { ApiKey, KeyMode } from "../domain/ApiKey.ts"
import { InvalidRequest, NotFound, type Unauthorized } from "../domain/errors.ts"
import type { KeyPrincipal } from "../domain/Principal.ts"

/** A new key with its secret, which cannot be read again later. */
export interface IssuedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

/** API keys. Secrets are stored only as keyed digests, so that a copy of the database reveals none. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Authenticates a secret. Unknown, revoked and malformed secrets fail alike; `Credentials` judges if the account is
     * suspended. The result may be up to 10 seconds old, so that a busy key costs no look-up for each request. A
     * revocation takes effect within that time.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<KeyPrincipal, Unauthorized>
    /** Fails with `InvalidRequest` when the account has `maxActiveKeys` already. */
    readonly create: (
      accountId: string,
      options: { readonly label: string; readonly mode: KeyMode }
    ) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /** The account's active keys and its latest `maxRevokedListed` revoked ones, newest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** A page of the keys of all accounts, newest first. `after` is the id of the last key of the page before. */
    readonly listAll: (page: {
      readonly after: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Revokes all active keys of an account, and answers them. */
    readonly revokeAll: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Revokes a key. Fails for an unknown or revoked one. */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, NotFound>
    /** Revokes the key and issues one with the same label and mode, in one transaction. */
    readonly rotate: (id: string) => Effect.Effect<IssuedKey, NotFound>
    /** Revokes a key of this account. A key of another account fails as an unknown one does. */
    readonly revokeOwn: (accountId: string, id: string) => Effect.Effect<ApiKey, NotFound>
    /** Rotates a key of this account. */
    readonly rotateOwn: (accountId: string, id: string) => Effect.Effect<IssuedKey, NotFound>
  }
>()("quarry/services/KeyStore") {}

export const maxActiveKeys = 50
export const maxRevokedListed = 100

export const tooManyKeys = InvalidRequest.whole(
  `an account has at most ${maxActiveKeys} active API keys: revoke one that is no longer used`
)

/** The shortest time between two updates of a key's last use. */
export const lastUsedStepMs = 60_000

export const noActiveKey = (id: string): NotFound => new NotFound({ message: `There is no active key ${id}.` })

/** The error without the id, so that it cannot show if another account has such a key. */
export const noSuchKey = new NotFound({ message: "There is no such active API key on this account." })
