export const basePath = "/api/auth"

/** What the sign-in library is asked for. It has more, and whatever is not here is not found. */
const offered: ReadonlyArray<readonly [method: string, path: RegExp]> = [
  ["POST", /^\/sign-up\/email$/],
  ["POST", /^\/sign-in\/email$/],
  ["POST", /^\/sign-out$/],
  ["GET", /^\/get-session$/],
  ["POST", /^\/change-password$/],
  ["POST", /^\/request-password-reset$/],
  ["POST", /^\/reset-password$/],
  ["POST", /^\/send-verification-email$/],
  ["GET", /^\/verify-email$/],
  // Where a browser ends up when its sign-in at a provider, or the confirmation of an address, has failed.
  ["GET", /^\/error$/]
]

const ofProviders: typeof offered = [
  ["POST", /^\/sign-in\/social$/],
  ["GET", /^\/callback\/(?:google|github)$/]
]

/** Whether there is anything at a path. Read from a parsed address, which is what the library routes by. */
export const isOffered = (method: string, path: string, withProviders: boolean): boolean =>
  path.startsWith(basePath) &&
  [...offered, ...(withProviders ? ofProviders : [])].some(
    (route) => route[0] === method && route[1].test(path.slice(basePath.length))
  )
