import type { Redacted } from "effect"
import type { SignUpPolicy } from "../../../domain/accounts/signUp.ts"
import type { SingleSignOnRule } from "../../../domain/accounts/singleSignOn.ts"
import type { IdentityProvider } from "../../../services/accounts/SignIn.ts"
import type { Keyring, SecretValue } from "../../../services/operations/Keyrings.ts"

export interface ProviderClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

export interface SingleSignOn extends ProviderClient, SingleSignOnRule {
  /** Exactly as in the provider's discovery document. */
  readonly issuer: string
}

/** In a file without the library's imports, which take half a second to load. */
export interface SignInOptions {
  /** Public URL, without a trailing slash. */
  readonly baseUrl: string
  readonly secrets: Keyring
  readonly google?: ProviderClient | undefined
  readonly github?: ProviderClient | undefined
  readonly oidc?: SingleSignOn | undefined
  readonly signUp: SignUpPolicy
  /** Everybody must set up a second factor (R66). */
  readonly requiresSecondFactor?: boolean
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

/** The OpenID provider may lead to other hosts, such as that of another organization. */
const targetOf = ({ issuer }: SingleSignOn): string => (issuer.startsWith("https:") ? "https:" : new URL(issuer).origin)

export const providersOf = ({
  github,
  google,
  oidc
}: Omit<SignInOptions, "secrets">): ReadonlyArray<IdentityProvider> => [
  ...(oidc ? [{ id: "oidc", name: oidc.name, formTarget: targetOf(oidc) } as const] : []),
  ...(google ? [{ id: "google", name: "Google", formTarget: "https://accounts.google.com" } as const] : []),
  ...(github ? [{ id: "github", name: "GitHub", formTarget: "https://github.com" } as const] : [])
]
