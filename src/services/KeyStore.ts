import { Context, type Effect, type Redacted } from "effect"
import type { ApiKey, KeyMode } from "../domain/ApiKey.ts"
import { InvalidRequest, NotFound, type Unauthorized } from "../domain/errors.ts"
import type { KeyPrincipal } from "../domain/Principal.ts"

/** A key whose secret is seen for the only time. */
export interface IssuedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

/** API keys. Secrets are stored as keyed digests only, so that a copy of the database opens nothing. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Who a secret belongs to. Unknown, revoked and malformed secrets fail alike. The answer may be up to 10 seconds
     * old, so that revocation takes effect within that time and a busy key costs no look-up for each request.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<KeyPrincipal, Unauthorized>
    /** Fails with `InvalidRequest` when the account has `maxActiveKeys` already. */
    readonly create: (
      accountId: string,
      options: { readonly label: string; readonly mode: KeyMode }
    ) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /** The account's active keys and the `maxRevokedListed` that were revoked last, newest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Fails for an unknown or already revoked key. */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, NotFound>
    /** Revokes the key and issues one with the same label and mode, in one transaction. */
    readonly rotate: (id: string) => Effect.Effect<IssuedKey, NotFound>
    /** `revoke` for the account's holder: a key of another account fails as one that does not exist. */
    readonly revokeOwn: (accountId: string, id: string) => Effect.Effect<ApiKey, NotFound>
    /** `rotate` for the account's holder. */
    readonly rotateOwn: (accountId: string, id: string) => Effect.Effect<IssuedKey, NotFound>
  }
>()("quarry/services/KeyStore") {}

export const maxActiveKeys = 50
export const maxRevokedListed = 100

export const tooManyKeys = InvalidRequest.whole(
  `an account has at most ${maxActiveKeys} active API keys: revoke one that is no longer used`
)

/** A key's last use is written down at most this often. */
export const lastUsedStepMs = 60_000

export const noActiveKey = (id: string): NotFound => new NotFound({ message: `There is no active key ${id}.` })

/** Says nothing of the id: whether somebody else has such a key must not show. */
export const noSuchKey = new NotFound({ message: "There is no such active API key on this account." })
