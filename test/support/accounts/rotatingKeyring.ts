import { type Array as Arr, Redacted } from "effect"
import type { Keyring, SecretValue } from "../../../src/services/operations/Keyrings.ts"

const secretValue = (name: string, byte: string): SecretValue => ({
  secret: Redacted.make(`the ${name} secret of at least thirty-two characters`),
  fingerprint: byte.repeat(16)
})

/** A secret that a test rotates, as seen by this process. */
export const rotatingKeyring = () => {
  const before = secretValue("old", "01")
  const after = secretValue("new", "02")
  let values: Arr.NonEmptyReadonlyArray<SecretValue> = [before]
  let isRotating = false
  return {
    values: () => values,
    isRotating: () => isRotating,
    /** Simulates a restart with both values. The old one is in use. */
    give: () => {
      values = [before, after]
    },
    rotate: () => {
      values = [after, before]
      isRotating = true
    },
    /** Simulates a restart with only the new value. */
    finish: () => {
      values = [after]
      isRotating = false
    }
  } satisfies Keyring & Record<string, () => unknown>
}
