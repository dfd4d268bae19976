import { Context, Effect, type Redacted } from "effect"
import type { KeyPrincipal } from "../../domain/accounts/Principal.ts"
import { InvalidRequest, NotFound, type Unauthorized } from "../../domain/errors.ts"
import type { ApiKey, KeyMode } from "../../domain/keys/ApiKey.ts"
import type { BoundsChange } from "../../domain/keys/KeyBounds.ts"

/** The secret cannot be read again. */
export interface IssuedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

export interface NewKeyOptions {
  readonly label: string
  readonly mode: KeyMode
  readonly bounds?: BoundsChange | undefined
  /** The ID of the person. Undefined for an operator. */
  readonly createdBy?: string | undefined
}

/**
 * API keys. Only keyed digests of secrets are stored, so that a copy of the database reveals no key.
 *
 * Layers: `KeyStoreSql`, and `KeyStoreMemory` for tests. To provide your own:
 *
 * ```ts
 * const watchedKeys = Layer.effect(
 *   KeyStore,
 *   Effect.map(KeyStore, (keys) => ({
 *     ...keys,
 *     authenticate: (secret: Redacted.Redacted) =>
 *       Effect.tapError(keys.authenticate(secret), () => Effect.logWarning("A key was not accepted."))
 *   }))
 * )
 * ```
 */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Authenticates a secret. All invalid secrets fail alike; `Credentials` checks suspension and networks. The result
     * may be cached for 10 seconds, which delays revocations and changes of bounds. Known expiry times take effect
     * exactly.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<KeyPrincipal, Unauthorized>
    /** Fails if the account already has `maxActiveKeys`, or if the expiry has passed. */
    readonly create: (accountId: string, options: NewKeyOptions) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /** Active keys, including rotated ones still valid, then the latest `maxRevokedListed` revoked ones. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** A page of all accounts' keys, newest first. `after` is the ID of the previous page's last key. */
    readonly listAll: (page: {
      readonly after: string | undefined
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<ApiKey>>
    readonly revokeAll: (accountId: string) => Effect.Effect<ReadonlyArray<ApiKey>>
    /** Also revokes older secrets in their grace period. Fails if the key is not active. */
    readonly revoke: (id: string) => Effect.Effect<ApiKey, NotFound>
    /**
     * Replaces a key in one transaction; the old secret stays valid for the grace period (R51). Bounds and spending
     * carry over. Fails for a key in its grace period, or if `maxGraces` older secrets are still valid.
     */
    readonly rotate: (id: string, graceSeconds?: number) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    /**
     * Changes the bounds of a key and its older valid secrets (R50). Spending is kept. Fails if the key is not active
     * or was rotated, or if the expiry has passed.
     */
    readonly bind: (id: string, change: BoundsChange) => Effect.Effect<ApiKey, NotFound | InvalidRequest>
    /** Like `revoke`, for one account. A key of another account is `not_found`. */
    readonly revokeOwn: (accountId: string, id: string) => Effect.Effect<ApiKey, NotFound>
    readonly rotateOwn: (
      accountId: string,
      id: string,
      graceSeconds?: number
    ) => Effect.Effect<IssuedKey, NotFound | InvalidRequest>
    readonly bindOwn: (
      accountId: string,
      id: string,
      change: BoundsChange
    ) => Effect.Effect<ApiKey, NotFound | InvalidRequest>
  }
>()("quarry/services/keys/KeyStore") {}

export const maxActiveKeys = 50
export const maxRevokedListed = 100

export const tooManyKeys = InvalidRequest.whole(
  `an account can have at most ${maxActiveKeys} active API keys; revoke one that is no longer used`
)

/** Limits older secrets per key. Without it, rotations would bypass `maxActiveKeys`. */
export const maxGraces = 4

export const tooManyGraces = InvalidRequest.fromIssues([
  {
    field: "grace_seconds",
    message: `must be 0: ${maxGraces} older secrets of the key are still valid; revoke one that is no longer used`
  }
])

const pastExpiry = InvalidRequest.fromIssues([
  { field: "expires_at", message: "must be in the future; revoke the key to end it now" }
])

export const requireFuture = (bounds: BoundsChange | undefined, now: number): Effect.Effect<void, InvalidRequest> => {
  const expiresAt = bounds?.expiresAt ?? undefined
  return expiresAt !== undefined && expiresAt <= now ? Effect.fail(pastExpiry) : Effect.void
}

export const lastUsedStepMs = 60_000

export const noActiveKey = (id: string): NotFound => new NotFound({ message: `There is no active key ${id}.` })

/** Does not name the ID, so that it does not reveal keys of other accounts. */
export const noSuchKey = new NotFound({ message: "There is no such active API key on this account." })
