import { Context, Data, type Effect, type Redacted } from "effect"
import type { SignUpMode } from "../../domain/accounts/signUp.ts"

export interface IdentityProvider {
  readonly id: "google" | "github" | "oidc"
  readonly name: string
  /** The CSP source of the pages that a form may lead to. */
  readonly formTarget: string
}

export interface Browser {
  /** The `Cookie` header, which may contain a session. */
  readonly cookies: Redacted.Redacted | undefined
  readonly userAgent: string | undefined
  /** The address or network that attempts are counted by (`2001:db8::/64`). */
  readonly address: string | undefined
}

export interface Redirect {
  readonly location: string
  /** Values of `Set-Cookie` headers. */
  readonly cookies: ReadonlyArray<Redacted.Redacted>
}

export interface PasswordSignIn {
  readonly email: string
  readonly password: Redacted.Redacted
  /** The query that `AuthorizationRequests` describes. Undefined if no app waits for the person. */
  readonly authorizationRequest: string | undefined
  /** A path of this deployment to continue at if no app waits, or if the address must be confirmed first. */
  readonly returnPath: string
}

/** An unknown address or a wrong password; callers cannot tell which. */
export class InvalidCredentials extends Data.TaggedError("InvalidCredentials") {}

/** The address is not confirmed yet. A new link has been sent. */
export class AddressUnconfirmed extends Data.TaggedError("AddressUnconfirmed") {}

/** Too many requests, sign-ups or wrong passwords from one client. */
export class TooManyAttempts extends Data.TaggedError("TooManyAttempts")<{
  readonly retryAfterSeconds: number
  /** For people, with the wait. Absent if the requests were too many. */
  readonly reason?: string | undefined
}> {}

/** The operator's settings do not allow this address to sign up (R65). The message says why and who can help. */
export class SignUpDenied extends Data.TaggedError("SignUpDenied")<{ readonly message: string }> {}

/** The message continues the field's name: "must be an email address". */
export class InvalidField extends Data.TaggedError("InvalidField")<{
  readonly field: "code" | "email" | "password" | "token"
  readonly message: string
}> {}

/** Another error of the sign-in library. The message is for people. */
export class SignInFailed extends Data.TaggedError("SignInFailed")<{ readonly message: string }> {}

export type SignInError =
  | InvalidCredentials
  | AddressUnconfirmed
  | TooManyAttempts
  | SignUpDenied
  | InvalidField
  | SignInFailed

/** Sign-up and sign-in on the pages of this deployment. */
export class SignIn extends Context.Service<
  SignIn,
  {
    readonly providers: ReadonlyArray<IdentityProvider>
    readonly signUpMode: SignUpMode
    /** False if people sign in only at the OpenID provider. */
    readonly hasPasswords: boolean
    /** False without a mail server: the operator forwards the links from the log. */
    readonly deliversEmails: boolean
    /** Opens a session and continues with the app's authorization request, or at `returnPath`. */
    readonly withPassword: (browser: Browser, signIn: PasswordSignIn) => Effect.Effect<Redirect, SignInError>
    /** Ends a sign-in that waits for a second factor, with a code of an authenticator app or a recovery code. */
    readonly withCode: (
      browser: Browser,
      signIn: { readonly code: Redacted.Redacted; readonly returnPath: string }
    ) => Effect.Effect<Redirect, SignInError>
    /** Undefined if the address must be confirmed by email first, which also hides if it was already known. */
    readonly signUp: (browser: Browser, signUp: PasswordSignIn) => Effect.Effect<Redirect | undefined, SignInError>
    /** Redirects to an identity provider, which returns to `returnPath` or `failurePath`. */
    readonly atProvider: (
      browser: Browser,
      provider: IdentityProvider["id"],
      paths: { readonly returnPath: string; readonly failurePath: string }
    ) => Effect.Effect<Redirect, SignInError>
    /** The emailed link continues at `returnPath`. Also succeeds for unknown addresses. */
    readonly requestPasswordReset: (
      browser: Browser,
      request: { readonly email: string; readonly returnPath: string }
    ) => Effect.Effect<void, SignInError>
    /** Undefined if the link was used or has expired. */
    readonly addressOfLink: (token: Redacted.Redacted) => Effect.Effect<string | undefined>
    /**
     * Sets a new password with a single-use token from an email and signs the person in. Confirms the address, ends all
     * other sessions of the person, and clears the browser's wait after wrong passwords. The redirect leads to
     * `returnPath`, or to the app that waits there. It has no session where signing in is limited at that moment.
     */
    readonly resetPassword: (
      browser: Browser,
      reset: { readonly token: Redacted.Redacted; readonly password: Redacted.Redacted; readonly returnPath: string }
    ) => Effect.Effect<Redirect, SignInError>
  }
>()("quarry/services/accounts/SignIn") {}
