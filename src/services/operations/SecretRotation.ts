import { Context, type Effect } from "effect"
import { OperatorError } from "../../domain/OperatorError.ts"
import type { SecretName } from "./Keyrings.ts"

/** The configured secret is not the one in use, or a rotation step is not possible. The message says what to do. */
export class SecretMismatch extends OperatorError("SecretMismatch") {}

export interface SecretStatus {
  readonly name: SecretName
  /**
   * `settled`: one value is in use. `given`: a new value is configured but not in use. `rotating`: the new value is in
   * use, and the old one is still accepted.
   */
  readonly state: "settled" | "given" | "rotating"
  /** Running processes seen in the last minute, and those without the new value. */
  readonly processes: number
  readonly processesWithout: number
  /** API keys, or sessions and refresh tokens, that still need the old value. */
  readonly remaining: number
}

/** Replaces secrets while the service runs (R56). */
export class SecretRotation extends Context.Service<
  SecretRotation,
  {
    readonly status: Effect.Effect<ReadonlyArray<SecretStatus>>
    /** Starts to use the new values, if all running processes have them. */
    readonly rotate: Effect.Effect<ReadonlyArray<SecretStatus>, SecretMismatch>
    /** Without `force`, fails while something still needs the old values; with it, that becomes invalid. */
    readonly finish: (options: {
      readonly force: boolean
    }) => Effect.Effect<ReadonlyArray<SecretStatus>, SecretMismatch>
    /** For lost old values: everything created with them becomes invalid. */
    readonly adopt: Effect.Effect<ReadonlyArray<SecretStatus>>
  }
>()("quarry/services/operations/SecretRotation") {}
