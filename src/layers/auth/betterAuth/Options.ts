import type { Redacted } from "effect"
import type { SignUpPolicy } from "../../../domain/accounts/signUp.ts"
import type { IdentityProvider } from "../../../services/accounts/SignIn.ts"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"

export interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

/** In a file without the library's imports, which take half a second to load. */
export interface SignInOptions {
  /** Public URL, without a trailing slash. */
  readonly baseUrl: string
  readonly secrets: Keyring
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
  readonly signUp: SignUpPolicy
  /** Client registrations of one client address. */
  readonly registrationsPerMinute: number
}

/** For layers that do not load the library. */
export type SecretOptions = Pick<SignInOptions, "baseUrl" | "secrets">

/** One library instance signs with `secret`, and reads data that was encrypted with any of `values`. */
export interface LibraryOptions extends Omit<SignInOptions, "secrets"> {
  readonly secret: Redacted.Redacted
  readonly values: ReadonlyArray<SecretValue>
}

export const providersOf = (options: Omit<SignInOptions, "secrets">): ReadonlyArray<IdentityProvider> =>
  (["google", "github"] as const).filter((name) => options[name] !== undefined)
