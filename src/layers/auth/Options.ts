import type { Redacted } from "effect"
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
  readonly secret: Redacted.Redacted
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
}

/** The identity providers at which this deployment is registered. */
export const providersOf = (options: SignInOptions): ReadonlyArray<IdentityProvider> =>
  (["google", "github"] as const).filter((name) => options[name] !== undefined)
