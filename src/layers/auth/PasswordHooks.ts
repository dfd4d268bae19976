import { AsyncLocalStorage } from "node:async_hooks"
import { APIError, isAPIError } from "better-auth/api"
import { hashPassword } from "better-auth/crypto"
import { Duration, Predicate } from "effect"
import type { AttemptLimit, Attempts } from "./Attempts.ts"
import { isCommonPassword } from "./commonPasswords.ts"
import type { Bridge } from "./Database.ts"

/** Our rules for passwords, as hooks that run before and after each route of the library. */

export const maxPasswordCharacters = 128

/**
 * Sign-ins with a password for one address, known or not, until one succeeds. Counted by address, because guesses may
 * come from many clients. A password that is reset by an emailed link ends the wait.
 */
export const passwordLimit: AttemptLimit = { name: "passwords", max: 10, window: Duration.minutes(15) }

/**
 * Hashes by password, for one request. The library hashes a new person's password inside the transaction that makes the
 * person. A hash takes a tenth of a second, for which everybody else would wait for the connection: the embedded
 * database has only one. So the hook computes it before the transaction.
 */
const hashes = new AsyncLocalStorage<Map<string, string>>()

/** Runs a request with hashes of its own. */
export const withHashes = <A>(body: () => Promise<A>): Promise<A> => hashes.run(new Map(), body)

/** The hash that the hook has computed, or a new one. */
export const hash = async (password: string): Promise<string> =>
  hashes.getStore()?.get(password) ?? hashPassword(password)

export interface Deps {
  readonly bridge: Bridge
  readonly attempts: Attempts
}

interface HookContext {
  readonly body?: unknown
  readonly path?: string
  readonly context: { readonly returned?: unknown }
}

const textOf = (body: object, name: string): string => {
  const value: unknown = Predicate.hasProperty(body, name) ? body[name] : undefined
  return typeof value === "string" ? value : ""
}

/** The field of each route that holds a password to be stored. */
const newPasswordFields: Readonly<Record<string, string>> = {
  "/sign-up/email": "password",
  "/change-password": "newPassword",
  "/reset-password": "newPassword"
}

const rejectCommonPassword = (path: string, body: object): void => {
  const field = newPasswordFields[path]
  if (field === undefined || !isCommonPassword(textOf(body, field))) return
  throw new APIError("BAD_REQUEST", { code: "PASSWORD_TOO_COMMON", message: "This password is too common." })
}

/** Counts before the password is compared, so that each of many simultaneous attempts counts. */
const countSignIn = async ({ attempts, bridge }: Deps, body: object): Promise<void> => {
  const seconds = await bridge.run(attempts.count(passwordLimit, textOf(body, "email")))
  if (seconds === undefined) return
  const message = "Too many sign-ins failed for this address. Wait, or choose a new password by mail."
  throw new APIError("TOO_MANY_REQUESTS", { message }, { "x-retry-after": String(seconds) })
}

/** Runs before the library reads a request. */
export const before = async (deps: Deps, { body, path = "" }: HookContext) => {
  if (!Predicate.isObject(body)) return undefined
  rejectCommonPassword(path, body)
  switch (path) {
    case "/sign-in/email":
      await countSignIn(deps, body)
      return undefined
    case "/change-password":
      // Somebody else may know the old password: their sessions must end.
      return { context: { body: { ...body, revokeOtherSessions: true } } }
    case "/sign-up/email": {
      const password = textOf(body, "password")
      if (password.length <= maxPasswordCharacters) hashes.getStore()?.set(password, await hashPassword(password))
      return undefined
    }
    default:
      return undefined
  }
}

/** Ends the count of wrong passwords after a right one. A 403 is a right password of an address to be confirmed. */
export const after = async ({ attempts, bridge }: Deps, { body, context, path }: HookContext) => {
  if (path !== "/sign-in/email" || !Predicate.isObject(body)) return
  const status = isAPIError(context.returned) ? context.returned.statusCode : 200
  if (status === 200 || status === 403) await bridge.run(attempts.forget(passwordLimit, textOf(body, "email")))
}
