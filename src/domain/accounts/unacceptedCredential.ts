import { Unauthorized } from "../errors.ts"
import { isKey } from "../keys/ApiKey.ts"
import { bearerToken, type CredentialHeaders, type CredentialKind } from "./Credential.ts"

/** Headers in which other services expect keys. Quarry's own routes read keys from `Authorization` only. */
export const strayKeyHeaders = ["x-api-key", "api-key", "apikey", "x-subscription-token", "x-auth-token"] as const

export type StrayKeyHeader = (typeof strayKeyHeaders)[number]

const sendKey = "Send an API key as `Authorization: Bearer sk_live_…`."

const because = (message: string): Unauthorized => new Unauthorized({ message })

const errors = {
  none: because(`No credential was sent. ${sendKey}`),
  noSession: because("This route needs a dashboard session. Sign in to the dashboard."),
  bearerMissing: because("`Bearer ` is missing before the key. Send `Authorization: Bearer sk_live_…`."),
  scheme: because(`\`Authorization\` must be \`Bearer\`, a space and one token. ${sendKey}`),
  sessionOnly: because("This route does not accept API keys. Sign in to the dashboard."),
  notAccepted: because("The credential was not accepted. Check that it is complete, not revoked and not expired.")
}

const strayErrors = Object.fromEntries(
  strayKeyHeaders.map((name) => [name, because(`This route does not read keys from \`${name}\`. ${sendKey}`)])
)

/** Depends only on the form of the request, so that it never reveals whether a key exists (R71). */
export const unacceptedCredential = (
  { authorization, demoOrigin, marketplaceSecret, marketplaceUser, sessionCookies }: CredentialHeaders,
  accepted: ReadonlyArray<CredentialKind>,
  strayHeader: StrayKeyHeader | undefined
): Unauthorized => {
  const takesKeys = accepted.includes("key")
  if (authorization !== undefined) {
    if (!takesKeys && isKey(bearerToken(authorization) ?? authorization.trim())) return errors.sessionOnly
    if (bearerToken(authorization) !== undefined) return errors.notAccepted
    return isKey(authorization.trim()) ? errors.bearerMissing : errors.scheme
  }
  const others = [demoOrigin, marketplaceSecret, marketplaceUser, ...sessionCookies]
  if (others.some((value) => value !== undefined)) return errors.notAccepted
  if (!takesKeys) return strayHeader === undefined ? errors.noSession : errors.sessionOnly
  return (strayHeader === undefined ? undefined : strayErrors[strayHeader]) ?? errors.none
}
