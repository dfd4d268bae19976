import type { Redacted } from "effect"
import type { SignUpPolicy } from "../../../domain/accounts/signUp.ts"
import type { IdentityProvider } from "../../../services/accounts/SignIn.ts"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"

export interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

/** The settings of sign-in. Separate from the library's imports, which take half a second to load. */
export interface SignInOptions {
  /** Public URL, without a trailing slash. */
  readonly baseUrl: string
  readonly secrets: Keyring
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
  readonly signUp: SignUpPolicy
}

/** The settings of one library instance, which signs with one secret and reads data encrypted with others. */
export interface LibraryOptions extends Omit<SignInOptions, "secrets"> {
  readonly secret: Redacted.Redacted
  readonly values: ReadonlyArray<SecretValue>
}

export const providersOf = (options: Omit<SignInOptions, "secrets">): ReadonlyArray<IdentityProvider> =>
  (["google", "github"] as const).filter((name) => options[name] !== undefined)
