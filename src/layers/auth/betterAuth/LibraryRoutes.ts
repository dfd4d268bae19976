import { authPath } from "../../../domain/accounts/OAuth.ts"

type Routes = ReadonlyArray<readonly [method: string, path: RegExp]>

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
  ["GET", /^\/error$/],
  ["POST", /^\/two-factor\/(?:enable|disable|verify-totp|verify-backup-code|generate-backup-codes)$/],
  ["GET", /^\/passkey\/(?:generate-register-options|generate-authenticate-options|list-user-passkeys)$/],
  ["POST", /^\/passkey\/(?:verify-registration|verify-authentication|delete-passkey)$/]
]

const ofProviders: Routes = [
  ["POST", /^\/sign-in\/social$/],
  ["GET", /^\/callback\/(?:google|github|oidc)$/]
]

const ofApps: Routes = [
  ["GET", /^\/oauth2\/authorize$/],
  ["POST", /^\/oauth2\/token$/],
  ["POST", /^\/oauth2\/register$/],
  ["POST", /^\/oauth2\/revoke$/],
  ["POST", /^\/oauth2\/public-client-prelogin$/],
  ["POST", /^\/oauth2\/consent$/]
]

export const routes: Routes = [...common, ...ofProviders, ...ofApps]

export const isOffered = (
  method: string,
  path: string,
  optional: { readonly providers: boolean; readonly apps: boolean }
): boolean =>
  path.startsWith(authPath) &&
  [...common, ...(optional.providers ? ofProviders : []), ...(optional.apps ? ofApps : [])].some(
    (route) => route[0] === method && route[1].test(path.slice(authPath.length))
  )
