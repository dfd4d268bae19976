import { Context, Data, type Effect } from "effect"
import type { ToolScope } from "../../domain/accounts/OAuth.ts"
import type { Unauthorized } from "../../domain/errors.ts"
import type { Browser, Redirect, TooManyAttempts } from "./SignIn.ts"

export interface AuthorizationRequest {
  /** Chosen by the app, not verified. */
  readonly appName: string | undefined
  readonly appId: string
  readonly scopes: ReadonlyArray<ToolScope>
  readonly redirectUri: string
}

/** The request is forged, already decided, or older than ten minutes. */
export class AuthorizationRequestExpired extends Data.TaggedError("AuthorizationRequestExpired") {}

/** The app was never registered, or was removed because it was not used. */
export class UnknownApp extends Data.TaggedError("UnknownApp") {}

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
>()("quarry/services/AuthorizationRequests") {}
