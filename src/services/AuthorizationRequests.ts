import { Context, Data, type Effect } from "effect"
import type { Unauthorized } from "../domain/errors.ts"
import type { Browser, Redirect, TooManyAttempts } from "./SignIn.ts"

/** An app that asks to act for a person (RFC 6749 section 4.1.1). */
export interface AuthorizationRequest {
  /** The name that the app chose itself; undefined when it chose none. */
  readonly appName: string | undefined
  /** The registered address at which the app gets the decision. */
  readonly redirectUri: string
}

/** The request is forged, was decided before, or is older than ten minutes. */
export class AuthorizationRequestExpired extends Data.TaggedError("AuthorizationRequestExpired") {}

/** The app was never registered, or was removed because nobody used it. */
export class UnknownApp extends Data.TaggedError("UnknownApp") {}

/**
 * The authorization requests of apps, and what people decide. A request is the signed query with which the authorization
 * endpoint redirects a browser to the sign-in page; pages hand it on from one to the next.
 */
export class AuthorizationRequests extends Context.Service<
  AuthorizationRequests,
  {
    readonly describe: (
      browser: Browser,
      request: string
    ) => Effect.Effect<AuthorizationRequest, AuthorizationRequestExpired | UnknownApp | TooManyAttempts>
    /** Leads to the app, with a code when the person allows it. Fails with `Unauthorized` without a session. */
    readonly decide: (
      browser: Browser,
      request: string,
      decision: "allow" | "deny"
    ) => Effect.Effect<Redirect, AuthorizationRequestExpired | Unauthorized | TooManyAttempts>
  }
>()("quarry/services/AuthorizationRequests") {}
