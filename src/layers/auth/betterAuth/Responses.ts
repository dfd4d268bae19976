import { Predicate } from "effect"
import { renderSVG } from "uqr"

type Fields = { readonly [name: string]: true | Fields }

const user: Fields = {
  id: true,
  email: true,
  emailVerified: true,
  name: true,
  twoFactorEnabled: true,
  createdAt: true,
  updatedAt: true
}

const passkey: Fields = { id: true, name: true, createdAt: true }

const redirect: Fields = { redirect: true, url: true }

/** The library puts the session token, which only the cookie may contain, into several bodies. */
const bodies: Readonly<Record<string, true | Fields>> = {
  "/sign-up/email": { ...redirect, signed_in: true, user },
  "/sign-in/email": { ...redirect, user, twoFactorRedirect: true, twoFactorMethods: true },
  "/sign-in/social": redirect,
  "/sign-out": { success: true },
  "/get-session": {
    session: { id: true, createdAt: true, updatedAt: true, expiresAt: true, ipAddress: true, userAgent: true },
    user
  },
  "/revoke-sessions": { status: true },
  "/change-password": { user },
  "/request-password-reset": { status: true, message: true },
  "/reset-password": { status: true },
  "/send-verification-email": { status: true },
  "/two-factor/enable": { totpURI: true, qrCode: true, backupCodes: true },
  "/two-factor/disable": { status: true },
  "/two-factor/generate-backup-codes": { backupCodes: true },
  "/passkey/generate-register-options": true,
  "/passkey/generate-authenticate-options": true,
  "/passkey/list-user-passkeys": passkey,
  "/passkey/verify-registration": passkey,
  "/passkey/verify-authentication": redirect,
  "/passkey/delete-passkey": { status: true },
  "/two-factor/verify-totp": { ...redirect, user },
  "/two-factor/verify-backup-code": { ...redirect, user },
  "/oauth2/public-client-prelogin": { client_id: true, client_name: true },
  "/oauth2/consent": redirect
}

/** Responses defined by OAuth, in which apps get their tokens (RFC 6749, RFC 7009, RFC 7591). */
const protocolPaths: ReadonlySet<string> = new Set(["/oauth2/token", "/oauth2/register", "/oauth2/revoke"])

const pick = (fields: true | Fields, value: unknown): unknown => {
  if (fields === true) return value
  if (Array.isArray(value)) return value.map((item) => pick(fields, item))
  if (!Predicate.isObject(value)) return null
  const entries = Object.entries(value).flatMap(([name, field]): Array<[string, unknown]> => {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (known === undefined || field === undefined) return []
    return [[name, pick(known, field)]]
  })
  return Object.fromEntries(entries)
}

/** Only successful responses: the handler reads errors. */
export const limitBody = async (path: string, response: Response): Promise<Response> => {
  const isJson = /^application\/json\b/.test(response.headers.get("content-type") ?? "")
  if (!response.ok || !isJson || protocolPaths.has(path)) return response
  const body: unknown = await response.json()
  if (path === "/two-factor/enable" && Predicate.hasProperty(body, "totpURI")) {
    Object.assign(body, { qrCode: `data:image/svg+xml,${encodeURIComponent(renderSVG(String(body.totpURI)))}` })
  }
  // A sign-up without a token opened no session, because the address must be confirmed first.
  const noted =
    path === "/sign-up/email" && Predicate.hasProperty(body, "token")
      ? { ...body, signed_in: body.token !== null }
      : body
  const { headers, status } = response
  headers.delete("content-length")
  return new Response(JSON.stringify(pick(bodies[path] ?? {}, noted)), { status, headers })
}
