import { type Array as Arr, Context, type Redacted } from "effect"

export const secretNames = ["KEY_PEPPER", "AUTH_SECRET"] as const
export type SecretName = (typeof secretNames)[number]

/** A value of a secret, and the fingerprint under which the store knows it. */
export interface SecretValue {
  readonly secret: Redacted.Redacted
  readonly fingerprint: string
}

/** The values of one secret that are accepted: two during a rotation. */
export interface Keyring {
  /** The value with which new things are made, then the other one. A rotation changes their order while they are used. */
  readonly values: () => Arr.NonEmptyReadonlyArray<SecretValue>
  /** True while things that were made with the second value are to be made anew with the first. */
  readonly isRotating: () => boolean
}

/** A keyring with one value, for whoever has no store that knows fingerprints. */
export const singleKeyring = (secret: Redacted.Redacted): Keyring => {
  const values = [{ secret, fingerprint: "" }] as const
  return { values: () => values, isRotating: () => false }
}

/** The secrets of this deployment, as far as the store has agreed to them (R56). */
export class Keyrings extends Context.Service<Keyrings, { readonly [Name in SecretName]: Keyring }>()(
  "quarry/services/Keyrings"
) {}
