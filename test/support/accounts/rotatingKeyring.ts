import { type Array as Arr, Redacted } from "effect"
import type { Keyring, SecretValue } from "../../../src/services/operations/Keyrings.ts"

const secretValue = (name: string, byte: string): SecretValue => ({
  secret: Redacted.make(`the ${name} secret of at least thirty-two characters`),
  fingerprint: byte.repeat(16)
})

/** A secret that a test rotates, as this process sees it. */
export const rotatingKeyring = () => {
  const before = secretValue("old", "01")
  const after = secretValue("new", "02")
  let values: Arr.NonEmptyReadonlyArray<SecretValue> = [before]
  let isRotating = false
  return {
    values: () => values,
    isRotating: () => isRotating,
    /** The process was restarted with both values; the old one is in use. */
    give: () => {
      values = [before, after]
    },
    rotate: () => {
      values = [after, before]
      isRotating = true
    },
    /** The process was restarted with the new value alone. */
    finish: () => {
      values = [after]
      isRotating = false
    }
  } satisfies Keyring & Record<string, () => unknown>
}
