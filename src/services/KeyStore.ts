import { Context, type Effect, type Redacted } from "effect"
import type { ApiKey, KeyMode } from "../domain/ApiKey.ts"
import type { NotFound, Unauthorized } from "../domain/errors.ts"
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
    readonly create: (
      accountId: string,
      options: { readonly label: string; readonly mode: KeyMode }
    ) => Effect.Effect<IssuedKey, NotFound>
    /** The account's keys, revoked ones included, newest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Fails for an unknown or already revoked key. */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, NotFound>
    /** Revokes the key and issues one with the same label and mode, in one transaction. */
    readonly rotate: (id: string) => Effect.Effect<IssuedKey, NotFound>
  }
>()("quarry/services/KeyStore") {}
