import type { Redacted } from "effect"
import type { SignUpPolicy } from "../../domain/signUp.ts"
import type { Keyring, SecretValue } from "../../services/Keyrings.ts"
import type { IdentityProvider } from "../../services/SignIn.ts"

/** The registration of this deployment at an identity provider. */
export interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

/** The settings of sign-in. A file without the library's imports, which take half a second to load. */
export interface SignInOptions {
  /** The address that clients use, without a trailing slash. */
  readonly baseUrl: string
  readonly secrets: Keyring
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
  readonly signUp: SignUpPolicy
}

/** The settings of one copy of the library, which signs with one secret and reads what others have encrypted. */
export interface LibraryOptions extends Omit<SignInOptions, "secrets"> {
  readonly secret: Redacted.Redacted
  readonly values: ReadonlyArray<SecretValue>
}

/** The identity providers at which this deployment is registered. */
export const providersOf = (options: Omit<SignInOptions, "secrets">): ReadonlyArray<IdentityProvider> =>
  (["google", "github"] as const).filter((name) => options[name] !== undefined)
