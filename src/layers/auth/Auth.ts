import { Layer } from "effect"
import * as AccessTokensBetterAuth from "./AccessTokensBetterAuth.ts"
import * as AuthorizationRequestsBetterAuth from "./AuthorizationRequestsBetterAuth.ts"
import * as AuthRoutesBetterAuth from "./AuthRoutesBetterAuth.ts"
import * as ConnectedAppsBetterAuth from "./ConnectedAppsBetterAuth.ts"
import * as Library from "./Library.ts"
import type { SignInOptions } from "./Options.ts"
import * as SessionsBetterAuth from "./SessionsBetterAuth.ts"
import * as SignInBetterAuth from "./SignInBetterAuth.ts"

/** All services of sign-in, sharing one instance of the library. */
export const layer = (options: SignInOptions) =>
  Layer.mergeAll(
    SessionsBetterAuth.layer(options),
    AccessTokensBetterAuth.layer(options),
    ConnectedAppsBetterAuth.layer,
    Layer.mergeAll(
      SignInBetterAuth.layer(options),
      AuthorizationRequestsBetterAuth.layer(options),
      AuthRoutesBetterAuth.layer(options)
    ).pipe(Layer.provide(Library.layer(options)))
  )
