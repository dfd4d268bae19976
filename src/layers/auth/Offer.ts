import { authPath } from "../../domain/OAuth.ts"

/** What the sign-in library is asked for. It has more, and whatever is not here is not found. */
const offered: ReadonlyArray<readonly [method: string, path: RegExp]> = [
  ["POST", /^\/sign-up\/email$/],
  ["POST", /^\/sign-in\/email$/],
  ["POST", /^\/sign-out$/],
  ["GET", /^\/get-session$/],
  ["POST", /^\/revoke-sessions$/],
  ["POST", /^\/change-password$/],
  ["POST", /^\/request-password-reset$/],
  ["POST", /^\/reset-password$/],
  ["POST", /^\/send-verification-email$/],
  // Where a browser ends up when its sign-in at a provider, or the confirmation of an address, has failed.
  ["GET", /^\/error$/]
]

const ofProviders: typeof offered = [
  ["POST", /^\/sign-in\/social$/],
  ["GET", /^\/callback\/(?:google|github)$/]
]

/** Where nothing is delivered: a link that confirms an address when it is opened. Mail gateways open links. */
const ofLinks: typeof offered = [["GET", /^\/verify-email$/]]

/** Of apps: their own requests, and what the pages of `/oauth` ask on behalf of a person. */
const ofApps: typeof offered = [
  ["GET", /^\/oauth2\/authorize$/],
  ["POST", /^\/oauth2\/token$/],
  ["POST", /^\/oauth2\/register$/],
  ["POST", /^\/oauth2\/revoke$/],
  ["POST", /^\/oauth2\/public-client-prelogin$/],
  ["POST", /^\/oauth2\/consent$/]
]

/** Whether there is anything at a path. Read from a parsed address, which is what the library routes by. */
export const isOffered = (
  method: string,
  path: string,
  optional: { readonly providers: boolean; readonly apps: boolean; readonly links: boolean }
): boolean =>
  path.startsWith(authPath) &&
  [
    ...offered,
    ...(optional.providers ? ofProviders : []),
    ...(optional.apps ? ofApps : []),
    ...(optional.links ? ofLinks : [])
  ].some((route) => route[0] === method && route[1].test(path.slice(authPath.length)))
