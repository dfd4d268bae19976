import { authPath } from "../../../domain/accounts/OAuth.ts"

type Routes = ReadonlyArray<readonly [method: string, path: RegExp]>

/** Library routes that this service offers. All others respond 404. */
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
  // The page after a failed sign-in at a provider.
  ["GET", /^\/error$/]
]

const ofProviders: Routes = [
  ["POST", /^\/sign-in\/social$/],
  ["GET", /^\/callback\/(?:google|github)$/]
]

/** OAuth endpoints, and the routes behind the `/oauth` pages. */
const ofApps: Routes = [
  ["GET", /^\/oauth2\/authorize$/],
  ["POST", /^\/oauth2\/token$/],
  ["POST", /^\/oauth2\/register$/],
  ["POST", /^\/oauth2\/revoke$/],
  ["POST", /^\/oauth2\/public-client-prelogin$/],
  ["POST", /^\/oauth2\/consent$/]
]

export const routes: Routes = [...common, ...ofProviders, ...ofApps]

/** True for an offered route. Takes the path from a parsed URL, like the library's router. */
export const isOffered = (
  method: string,
  path: string,
  optional: { readonly providers: boolean; readonly apps: boolean }
): boolean =>
  path.startsWith(authPath) &&
  [...common, ...(optional.providers ? ofProviders : []), ...(optional.apps ? ofApps : [])].some(
    (route) => route[0] === method && route[1].test(path.slice(authPath.length))
  )
