import { Context, type Effect } from "effect"
import { OperatorError } from "../domain/OperatorError.ts"
import type { SecretName } from "./Keyrings.ts"

/** A secret that is not the one in use, or a step of a rotation that cannot be taken. The message says what to do. */
export class SecretMismatch extends OperatorError("SecretMismatch") {}

export interface SecretStatus {
  readonly name: SecretName
  /**
   * `settled`: one value is in use. `given`: a new value is in the settings, and not in use. `rotating`: the new value is
   * in use, and the old one is accepted.
   */
  readonly state: "settled" | "given" | "rotating"
  /** Running processes that were seen in the last minute, and those of them without the new value. */
  readonly processes: number
  readonly processesWithout: number
  /** Active API keys, or sessions and refresh tokens, that only the old value opens. */
  readonly remaining: number
}

/** The exchange of a secret for another while the service runs (R56). */
export class SecretRotation extends Context.Service<
  SecretRotation,
  {
    readonly status: Effect.Effect<ReadonlyArray<SecretStatus>>
    /** Takes each new value of the settings into use, if all running processes have it. */
    readonly rotate: Effect.Effect<ReadonlyArray<SecretStatus>, SecretMismatch>
    /** Forgets the old values. Without `force` it fails while something needs one; with it, that ends. */
    readonly finish: (options: {
      readonly force: boolean
    }) => Effect.Effect<ReadonlyArray<SecretStatus>, SecretMismatch>
    /** Takes the values of the settings for those in use, where the old ones are lost. What was made with them ends. */
    readonly adopt: Effect.Effect<ReadonlyArray<SecretStatus>>
  }
>()("quarry/services/SecretRotation") {}
