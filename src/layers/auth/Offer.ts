import { authPath } from "../../domain/OAuth.ts"

type Routes = ReadonlyArray<readonly [method: string, path: RegExp]>

/** The library's routes that this service offers. The library has more; those are not found. */
const common: Routes = [
  ["POST", /^\/sign-up\/email$/],
  ["POST", /^\/sign-in\/email$/],
  ["POST", /^\/sign-out$/],
  ["GET", /^\/get-session$/],
  ["POST", /^\/revoke-sessions$/],
  ["POST", /^\/change-password$/],
  ["POST", /^\/request-password-reset$/],
  ["POST", /^\/reset-password$/],
  ["POST", /^\/send-verification-email$/],
  // A browser ends here when its sign-in at a provider has failed.
  ["GET", /^\/error$/]
]

const ofProviders: Routes = [
  ["POST", /^\/sign-in\/social$/],
  ["GET", /^\/callback\/(?:google|github)$/]
]

/** The endpoints of OAuth, and those behind the pages of `/oauth`. */
const ofApps: Routes = [
  ["GET", /^\/oauth2\/authorize$/],
  ["POST", /^\/oauth2\/token$/],
  ["POST", /^\/oauth2\/register$/],
  ["POST", /^\/oauth2\/revoke$/],
  ["POST", /^\/oauth2\/public-client-prelogin$/],
  ["POST", /^\/oauth2\/consent$/]
]

/** Every route that a deployment may offer. */
export const routes: Routes = [...common, ...ofProviders, ...ofApps]

/** True for an offered route. The path comes from a parsed URL, because the library routes by that too. */
export const isOffered = (
  method: string,
  path: string,
  optional: { readonly providers: boolean; readonly apps: boolean }
): boolean =>
  path.startsWith(authPath) &&
  [...common, ...(optional.providers ? ofProviders : []), ...(optional.apps ? ofApps : [])].some(
    (route) => route[0] === method && route[1].test(path.slice(authPath.length))
  )
