import { Context, Data, type Effect } from "effect"
import type { ToolScope } from "../../domain/accounts/OAuth.ts"
import type { Unauthorized } from "../../domain/errors.ts"
import type { Browser, Redirect, TooManyAttempts } from "./SignIn.ts"

/** An app's request to act for a person (RFC 6749, 4.1.1). */
export interface AuthorizationRequest {
  /** The name that the app chose for itself, if any. */
  readonly appName: string | undefined
  readonly appId: string
  readonly scopes: ReadonlyArray<ToolScope>
  /** Receives the decision; registered by the app. */
  readonly redirectUri: string
}

/** The request is forged, already decided, or older than ten minutes. */
export class AuthorizationRequestExpired extends Data.TaggedError("AuthorizationRequestExpired") {}

/** The app was never registered, or was removed because it was not used. */
export class UnknownApp extends Data.TaggedError("UnknownApp") {}

/**
 * Authorization requests of apps and people's decisions. A request is the signed query that the authorization endpoint
 * redirects to the sign-in page; the pages pass it on.
 */
export class AuthorizationRequests extends Context.Service<
  AuthorizationRequests,
  {
    readonly describe: (
      browser: Browser,
      request: string
    ) => Effect.Effect<AuthorizationRequest, AuthorizationRequestExpired | UnknownApp | TooManyAttempts>
    /** Redirects to the app, with a code if the person allows it. Fails with `Unauthorized` without a session. */
    readonly decide: (
      browser: Browser,
      request: string,
      decision: "allow" | "deny"
    ) => Effect.Effect<Redirect, AuthorizationRequestExpired | Unauthorized | TooManyAttempts>
  }
>()("quarry/services/accounts/AuthorizationRequests") {}
