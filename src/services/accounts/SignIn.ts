import { Context, Data, type Effect, type Redacted } from "effect"
import type { SignUpMode } from "../../domain/accounts/signUp.ts"

export type IdentityProvider = "google" | "github"

export interface Browser {
  readonly cookies: Redacted.Redacted | undefined
  readonly userAgent: string | undefined
  /** The address or network that attempts are counted by (`2001:db8::/64`). */
  readonly address: string | undefined
}

export interface Redirect {
  readonly location: string
  readonly cookies: ReadonlyArray<Redacted.Redacted>
}

export interface PasswordSignIn {
  readonly email: string
  readonly password: Redacted.Redacted
  readonly authorizationRequest: string
  /** A path of this deployment to which a confirmation link leads. */
  readonly returnPath: string
}

/** An unknown address or a wrong password; callers cannot tell which. */
export class InvalidCredentials extends Data.TaggedError("InvalidCredentials") {}

/** The address is not confirmed yet. A new link has been sent. */
export class AddressUnconfirmed extends Data.TaggedError("AddressUnconfirmed") {}

export class TooManyAttempts extends Data.TaggedError("TooManyAttempts")<{ readonly retryAfterSeconds: number }> {}

/** The operator's settings do not allow this address to sign up (R65). The message says why and who can help. */
export class SignUpDenied extends Data.TaggedError("SignUpDenied")<{ readonly message: string }> {}

/** The message continues the field's name: "must be an email address". */
export class InvalidField extends Data.TaggedError("InvalidField")<{
  readonly field: "email" | "password" | "token"
  readonly message: string
}> {}

export class SignInFailed extends Data.TaggedError("SignInFailed")<{ readonly message: string }> {}

export type SignInError =
  | InvalidCredentials
  | AddressUnconfirmed
  | TooManyAttempts
  | SignUpDenied
  | InvalidField
  | SignInFailed

export class SignIn extends Context.Service<
  SignIn,
  {
    readonly providers: ReadonlyArray<IdentityProvider>
    readonly signUpMode: SignUpMode
    /** False without a mail server: the operator forwards the links from the log. */
    readonly deliversEmails: boolean
    readonly withPassword: (browser: Browser, signIn: PasswordSignIn) => Effect.Effect<Redirect, SignInError>
    /** Undefined if an email must confirm the address first. A known address looks the same. */
    readonly signUp: (browser: Browser, signUp: PasswordSignIn) => Effect.Effect<Redirect | undefined, SignInError>
    readonly atProvider: (
      browser: Browser,
      provider: IdentityProvider,
      paths: { readonly returnPath: string; readonly failurePath: string }
    ) => Effect.Effect<Redirect, SignInError>
    /** The emailed link continues at `returnPath`. Also succeeds for unknown addresses. */
    readonly requestPasswordReset: (
      browser: Browser,
      request: { readonly email: string; readonly returnPath: string }
    ) => Effect.Effect<void, SignInError>
    readonly addressOfLink: (token: Redacted.Redacted) => Effect.Effect<string | undefined>
    /** The token is single-use. Confirms the address, ends other sessions, and signs in unless sign-ins are limited. */
    readonly resetPassword: (
      browser: Browser,
      reset: { readonly token: Redacted.Redacted; readonly password: Redacted.Redacted; readonly returnPath: string }
    ) => Effect.Effect<Redirect, SignInError>
  }
>()("quarry/services/SignIn") {}
