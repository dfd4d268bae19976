import { Layer } from "effect"
import * as AuthRoutesBetterAuth from "./AuthRoutesBetterAuth.ts"
import * as Library from "./betterAuth/Library.ts"
import type { SignInOptions } from "./betterAuth/Options.ts"
import * as MembersBetterAuth from "./MembersBetterAuth.ts"
import * as AccessTokensBetterAuth from "./oauth/AccessTokensBetterAuth.ts"
import * as AuthorizationRequestsBetterAuth from "./oauth/AuthorizationRequestsBetterAuth.ts"
import * as ConnectedAppsBetterAuth from "./oauth/ConnectedAppsBetterAuth.ts"
import * as SessionsBetterAuth from "./SessionsBetterAuth.ts"
import * as SignInBetterAuth from "./SignInBetterAuth.ts"

export const layer = (options: SignInOptions) =>
  Layer.mergeAll(
    SessionsBetterAuth.layer(options),
    AccessTokensBetterAuth.layer(options),
    ConnectedAppsBetterAuth.layer,
    MembersBetterAuth.layer(options),
    // Only these load the sign-in library.
    Layer.mergeAll(
      SignInBetterAuth.layer(options),
      AuthorizationRequestsBetterAuth.layer(options),
      AuthRoutesBetterAuth.layer(options)
    ).pipe(Layer.provide(Library.layer(options)))
  )
