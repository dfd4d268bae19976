import { type Array as Arr, Context, type Redacted } from "effect"

export const secretNames = ["KEY_PEPPER", "AUTH_SECRET"] as const
export type SecretName = (typeof secretNames)[number]

export interface SecretValue {
  readonly secret: Redacted.Redacted
  readonly fingerprint: string
}

/** The accepted values of a secret: two during a rotation. */
export interface Keyring {
  /** The value that signs comes first. A rotation changes the order at run time. */
  readonly values: () => Arr.NonEmptyReadonlyArray<SecretValue>
  /** True while existing data must be re-encrypted or re-signed with the first value. */
  readonly isRotating: () => boolean
}

/** A keyring with one value, for use without a database. */
export const singleKeyring = (secret: Redacted.Redacted): Keyring => {
  const values = [{ secret, fingerprint: "" }] as const
  return { values: () => values, isRotating: () => false }
}

/** The secrets of this deployment, as verified with the database (R56). */
export class Keyrings extends Context.Service<Keyrings, { readonly [Name in SecretName]: Keyring }>()(
  "quarry/services/operations/Keyrings"
) {}
