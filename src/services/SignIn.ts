import { Context, Data, type Effect, type Redacted } from "effect"
import type { SignUpMode } from "../domain/signUp.ts"

/** An identity provider at which people sign in instead of with a password. */
export type IdentityProvider = "google" | "github"

/** The browser of a person, as its request presents it. */
export interface Browser {
  /** Its `Cookie` header, which may hold a session. */
  readonly cookies: Redacted.Redacted | undefined
  readonly userAgent: string | undefined
  /** The address or network under which its attempts are counted (`2001:db8::/64`). */
  readonly address: string | undefined
}

/** The next page for a browser, and the cookies that it gets on the way. */
export interface Redirect {
  readonly location: string
  /** Values of `Set-Cookie` headers. */
  readonly cookies: ReadonlyArray<Redacted.Redacted>
}

/** An address with its password, and the authorization request of the app that waits for the sign-in. */
export interface PasswordSignIn {
  readonly email: string
  readonly password: Redacted.Redacted
  /** The query that `AuthorizationRequests` describes. */
  readonly authorizationRequest: string
  /** A path of this deployment: the page to go on to when the address has to be confirmed first. */
  readonly returnPath: string
}

/** The address is unknown or the password wrong: nobody learns which. */
export class InvalidCredentials extends Data.TaggedError("InvalidCredentials") {}

/** The address has to be confirmed before anybody is signed in with it. Its link has been sent again. */
export class AddressUnconfirmed extends Data.TaggedError("AddressUnconfirmed") {}

/** Too many requests or sign-ups of one client, or too many of its passwords were wrong. */
export class TooManyAttempts extends Data.TaggedError("TooManyAttempts")<{ readonly retryAfterSeconds: number }> {}

/** The operator's settings do not let this address sign up (R65). The message says why, and whom to ask. */
export class SignUpDenied extends Data.TaggedError("SignUpDenied")<{ readonly message: string }> {}

/** A field is wrong. The message goes on from the field's name: "must be an email address". */
export class InvalidField extends Data.TaggedError("InvalidField")<{
  readonly field: "email" | "password" | "token"
  readonly message: string
}> {}

/** Any other answer of the sign-in library. The message is meant for people. */
export class SignInFailed extends Data.TaggedError("SignInFailed")<{ readonly message: string }> {}

export type SignInError =
  | InvalidCredentials
  | AddressUnconfirmed
  | TooManyAttempts
  | SignUpDenied
  | InvalidField
  | SignInFailed

/** Signing up and in from the pages of this deployment. */
export class SignIn extends Context.Service<
  SignIn,
  {
    /** The identity providers at which this deployment is registered. */
    readonly providers: ReadonlyArray<IdentityProvider>
    readonly signUpMode: SignUpMode
    /** False without a mail server: the operator finds the links in the log and hands them on. */
    readonly deliversEmails: boolean
    /** Opens a session with a password, and goes on to the app's authorization request. */
    readonly withPassword: (browser: Browser, signIn: PasswordSignIn) => Effect.Effect<Redirect, SignInError>
    /**
     * Makes a person, and their account, for an address. Answers undefined when the address has to be confirmed by a
     * link in an email first: nobody learns whether the address was known.
     */
    readonly signUp: (browser: Browser, signUp: PasswordSignIn) => Effect.Effect<Redirect | undefined, SignInError>
    /** Leads to an identity provider, which leads back to `returnPath`, or to `failurePath`. */
    readonly atProvider: (
      browser: Browser,
      provider: IdentityProvider,
      paths: { readonly returnPath: string; readonly failurePath: string }
    ) => Effect.Effect<Redirect, SignInError>
    /**
     * Sends a link to the page that resets the password of an address, and from there to `returnPath`. Succeeds for
     * unknown addresses too.
     */
    readonly requestPasswordReset: (
      browser: Browser,
      request: { readonly email: string; readonly returnPath: string }
    ) => Effect.Effect<void, SignInError>
    /**
     * Sets a new password with the token of an emailed link, which is used up. Confirms the address, ends every session
     * of the person, and ends the browser's wait after wrong passwords.
     */
    readonly resetPassword: (
      browser: Browser,
      reset: { readonly token: Redacted.Redacted; readonly password: Redacted.Redacted }
    ) => Effect.Effect<void, SignInError>
  }
>()("quarry/services/SignIn") {}
